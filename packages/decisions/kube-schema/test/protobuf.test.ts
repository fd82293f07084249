import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@kubus/kube-objects';
import fc from 'fast-check';
import { decodeObject, encodeObject, encodeWatchEvent, ProtobufError } from '../src/index.ts';

const hex = (bytes: Uint8Array | undefined) =>
  Array.from(bytes ?? [], (byte) => byte.toString(16).padStart(2, '0')).join('');
const there = (object: JsonObject) => encodeObject(object) ?? new Uint8Array();
const andBack = (object: JsonObject) => decodeObject(there(object));

const text = fc.string({ minLength: 1, maxLength: 8 });
const map = fc.dictionary(text, text, { minKeys: 1, maxKeys: 4 });
const time = fc
  .integer({ min: 1, max: 4_000_000_000 })
  .map((seconds) => `${new Date(seconds * 1000).toISOString().slice(0, -5)}Z`);
const whole = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const container = fc.record(
  {
    name: text,
    image: text,
    command: fc.array(text, { minLength: 1, maxLength: 3 }),
    env: fc.array(fc.record({ name: text, value: text }), { minLength: 1, maxLength: 3 }),
    resources: fc.record({ limits: fc.dictionary(text, fc.constantFrom('1', '100m', '2Gi'), { minKeys: 1 }) }),
    readinessProbe: fc.record({
      httpGet: fc.record({ path: text, port: fc.oneof(text, whole) }),
      terminationGracePeriodSeconds: fc.maxSafeInteger(),
    }),
    tty: fc.constant(true),
  },
  { requiredKeys: ['name'] },
);
const pod = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('Pod'),
  metadata: fc.record(
    {
      name: text,
      labels: map,
      creationTimestamp: time,
      managedFields: fc.array(
        fc.record({ manager: text, fieldsType: fc.constant('FieldsV1'), fieldsV1: fc.constant({ 'f:a': {} }) }),
        { minLength: 1 },
      ),
    },
    { requiredKeys: ['name'] },
  ),
  spec: fc.record(
    {
      containers: fc.array(container, { minLength: 1, maxLength: 3 }),
      volumes: fc.array(fc.record({ name: text, emptyDir: fc.record({ sizeLimit: fc.constant('1Gi') }) }), {
        minLength: 1,
      }),
      hostUsers: fc.boolean(),
      priority: whole,
      ephemeralContainers: fc.array(fc.record({ name: text, targetContainerName: text }), { minLength: 1 }),
    },
    { requiredKeys: ['containers'] },
  ),
});

/** What Go's encoder always writes is compared by what it adds. */
const withResources = (object: JsonObject): JsonObject => JSON.parse(JSON.stringify(object)) as JsonObject;

describe('protobuf', () => {
  test('an object is the same after both ways', () => {
    fc.assert(fc.property(pod, (object) => expect(andBack(object as JsonObject)).toEqual(withResources(object))));
  });

  test('the bytes are those of the generated.proto', () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } };
    // Envelope: type { v1, Namespace }, raw { metadata { all texts, creationTimestamp }, spec, status }, encoding, media type.
    const metadata = '0a01611200' + '1a0022002a003200' + '3800' + '4200';
    const raw = `0a${(metadata.length / 2).toString(16).padStart(2, '0')}${metadata}12001a020a00`;
    const type = '0a0276311209' + hex(new TextEncoder().encode('Namespace'));
    const length = (part: string) => (part.length / 2).toString(16).padStart(2, '0');
    expect(hex(encodeObject(namespace))).toBe(`6b3873000a${length(type)}${type}12${length(raw)}${raw}1a002200`);
  });

  test.each<[string, JsonObject, JsonObject]>([
    [
      'microseconds',
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'l' },
        spec: { renewTime: '2026-01-02T03:04:05.000006Z' },
      },
      { spec: { renewTime: '2026-01-02T03:04:05.000006Z' } },
    ],
    [
      'binary data',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { empty: '', some: 'AAH/' } },
      { data: { empty: '', some: 'AAH/' } },
    ],
    [
      'a list, and fields that are optional and empty',
      {
        apiVersion: 'v1',
        kind: 'ConfigMapList',
        metadata: { resourceVersion: '7' },
        items: [{ metadata: { name: 'c' }, immutable: false }],
      },
      {
        kind: 'ConfigMapList',
        metadata: { resourceVersion: '7' },
        items: [{ metadata: { name: 'c' }, immutable: false }],
      },
    ],
    [
      'what is inlined in JSON',
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'p' },
        spec: {
          containers: [{ name: 'c', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }],
        },
      },
      { spec: { containers: [{ env: [{ valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }] } },
    ],
    [
      'an options object of any version',
      { apiVersion: 'policy/v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
      { gracePeriodSeconds: 0 },
    ],
  ])('%s', (_what, object, expected) => {
    expect(andBack(object)).toMatchObject(expected);
  });

  test('an event of a watch has its length before it, and the whole object within', () => {
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } };
    const frame = encodeWatchEvent('ADDED', object) ?? new Uint8Array();
    expect(new DataView(frame.buffer, frame.byteOffset).getUint32(0)).toBe(frame.length - 4);
    expect(hex(frame)).toContain(hex(encodeObject(object)));
    expect(hex(frame.subarray(4))).toMatch(/^0a054144444544/);
  });

  test('an unknown kind has no protobuf form', () => {
    expect(encodeObject({ apiVersion: 'apps/v1', kind: 'Deployment' })).toBeUndefined();
  });

  test('what is no object is refused, whatever it is', () => {
    const object = there({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c' }] },
    });
    expect(() => decodeObject(object.subarray(4))).toThrow(ProtobufError);
    expect(() => decodeObject(object.subarray(0, object.length - 6))).toThrow(ProtobufError);
    fc.assert(
      fc.property(fc.nat(object.length - 5), fc.nat(255), (at, byte) => {
        const changed = Uint8Array.from(object);
        changed[at + 4] = byte;
        try {
          return decodeObject(changed)['kind'] !== undefined;
        } catch (error) {
          return error instanceof ProtobufError;
        }
      }),
    );
  });
});
