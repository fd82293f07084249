import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '@kubus/kube-fixture';
import { parseAllDocuments } from 'yaml';
import type { GoldenRecord } from './record-diff.ts';

/** A pod that exercises one behaviour of a node. */
export interface Scenario {
  readonly name: string;
  /** Seconds after which the reference was recorded. */
  readonly settleSeconds: number;
  /** The pod is deleted at the end, and its events include those of the deletion. */
  readonly deletes: boolean;
  /** The manifest of the pod. */
  readonly pod: string;
  /** The ConfigMaps and Secrets that the pod refers to; they go into its namespace. */
  readonly objects: readonly JsonObject[];
  readonly golden: GoldenRecord;
}

/** Scenarios of a folder, `<name>.yaml` each, with the reference's records in `golden.jsonl`, one line each. */
export async function readScenarios(folder: string): Promise<Scenario[]> {
  const lines = (await readFile(join(folder, 'golden.jsonl'), 'utf8')).trim().split('\n');
  const golden = new Map(lines.map((line) => JSON.parse(line) as GoldenRecord).map((one) => [one.name, one]));
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml')).sort();
  return Promise.all(
    files.map(async (file) => {
      const name = file.replace(/\.yaml$/, '');
      const record = golden.get(name);
      if (record === undefined) throw new Error(`golden.jsonl lacks a record of ${name}`);
      return parseScenario(name, await readFile(join(folder, file), 'utf8'), record);
    }),
  );
}

/** The head of a file may contain `# settle: SECONDS` and `# delete: true`; its last document is the pod. */
function parseScenario(name: string, text: string, golden: GoldenRecord): Scenario {
  return {
    name,
    settleSeconds: Number(/^# settle: ([\d.]+)$/m.exec(text)?.[1] ?? 6),
    deletes: /^# delete: true$/m.test(text),
    pod: text.split(/^---$/m).at(-1) ?? '',
    objects: parseAllDocuments(text)
      .map((document) => document.toJS() as JsonObject)
      .filter(({ kind }) => kind === 'ConfigMap' || kind === 'Secret'),
    golden,
  };
}
