import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { asObject, entriesOf, isList, isObject, type Json, type JsonObject } from '@kubus/kube-objects';
import { applyPatch, updateManagedFields } from '../src/index.ts';

/** A write and what k8s.io/apimachinery's field manager of Kubernetes 1.36 made of it, with times of one second a step. */
interface Step {
  readonly op: 'apply' | 'update';
  readonly manager: string;
  readonly subresource?: string;
  readonly force?: boolean;
  readonly patch: JsonObject;
  /** For an update: the object that it writes. */
  readonly new: JsonObject;
  readonly result?: JsonObject;
  readonly error?: string;
}

interface Sequence {
  readonly apiVersion: string;
  readonly kind: string;
  readonly steps: readonly Step[];
}

const sequences = readFileSync(new URL('sequences.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Sequence);

const stepTime = (index: number): string => new Date((1_700_000_000 + index) * 1000).toISOString().replace('.000', '');

/** The values that are set: the reference's types write some that are not. No sequence sets one to these. */
function setValues(value: Json): Json | undefined {
  if (isList(value)) return value.length === 0 ? undefined : value.map((item) => setValues(item) ?? {});
  if (!isObject(value)) return value === null || value === 0 || value === '' || value === false ? undefined : value;
  const fields = entriesOf(value)
    .map(([name, field]) => [name, setValues(field)] as const)
    .filter(([, field]) => field !== undefined);
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}

function answer(sequence: Sequence, step: Step, index: number, live: JsonObject | undefined): JsonObject | string {
  const { apiVersion, kind } = sequence;
  const { manager, subresource, force = false, patch } = step;
  const write = { apiVersion, kind, manager, subresource, time: stepTime(index) };
  if (step.op === 'update') return updateManagedFields(live, step.new, write);
  const result = applyPatch({ ...write, live, patch, force });
  return result.outcome === 'applied' ? result.object : result.message;
}

/** The managers, and all else that is set; the UID is given after the first write. */
function shown(answered: JsonObject | string): unknown {
  if (typeof answered === 'string') return answered;
  const { managedFields, uid: _, ...metadata } = asObject(answered['metadata']);
  return { managedFields, object: setValues({ ...answered, metadata }) };
}

const kinds = [...Map.groupBy(sequences, ({ apiVersion, kind }) => `${apiVersion} ${kind}`)];

describe('writes end as in the reference', () => {
  test.each(kinds)('%s', (_, ofKind) => {
    for (const sequence of ofKind) {
      let live: JsonObject | undefined;
      for (const [index, step] of sequence.steps.entries()) {
        const answered = answer(sequence, step, index, live);
        expect(shown(answered)).toEqual(shown(step.error ?? step.result ?? 'nothing'));
        live = step.result ?? live;
      }
    }
  });

  test('of more than 300 sequences', () => {
    expect(sequences.length).toBeGreaterThan(300);
    expect(sequences.filter(({ steps }) => steps.some(({ error }) => error !== undefined)).length).toBeGreaterThan(100);
  });
});
