import { describe, expect, test } from '@jest/globals';
import { Random, silentLogger } from '@kubus/ports';
import { NODE, SimulatedNode, simulatedServices } from '@kubus/simulation';
import { type ServiceName, decodeToken, faultContracts, serviceNames, subjectOf, typeOf } from '@kubus/contracts';
import type { WireMessage } from '@kubus/bus';
import { Ajv, type ValidateFunction } from 'ajv';
import { createRequire } from 'node:module';
import { asyncApiDocument, jsonSchemas } from '../src/index.ts';

const document = asyncApiDocument('1.2.3', 'how it works');
const root = 'contract';
/** AsyncAPI's own fields are not known to JSON Schema; the formats in use are only hints. */
const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema({ ...document, $id: root });

function validator(ref: string): ValidateFunction {
  const validate = ajv.getSchema(`${root}${ref}`);
  if (validate === undefined) throw new Error(`there is no ${ref}`);
  return validate;
}

/** Every `$ref` in a document. */
function refsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(refsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === '$ref' && typeof inner === 'string' ? [inner] : refsIn(inner),
  );
}

describe('the AsyncAPI document', () => {
  test('is valid by the schema of the AsyncAPI specification', () => {
    const specification = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0.json') as object;
    // It contains the schema of JSON Schema itself.
    const validate = new Ajv({ strict: false, validateFormats: false, meta: false, validateSchema: false }).compile(
      specification,
    );
    validate(document);
    expect(validate.errors).toBeNull();
    expect(validate({ ...document, channels: { broken: { adress: 'x' } } })).toBe(false);
  });

  test('has no dangling references', () => {
    const refs = [...new Set(refsIn(document))];
    expect(refs.length).toBeGreaterThan(100);
    const missing = refs.filter((ref) => {
      const path = ref.replace(/^#\//, '').split('/');
      return (
        path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document) === undefined
      );
    });
    expect(missing).toEqual([]);
  });

  test('has the subject of every declared message and an operation for each service that sends or receives it', () => {
    for (const name of serviceNames) {
      const { about: _about, ...lists } = faultContracts[name];
      for (const [use, declarations] of Object.entries(lists)) {
        for (const declaration of declarations) {
          const id = typeOf(declaration).replace('/', '.v');
          const address = document.channels[id]?.address.replace('{node}', 'node0').replace('{key}', 'pod-1');
          const sender = declaration.kind === 'cmd' ? '.{service}.{instance}' : '';
          expect(address).toBe(subjectOf('node0', declaration, 'pod-1') + sender);
          expect(document.operations).toHaveProperty([`${name}.${use}.${id}`]);
        }
      }
    }
  });

  test('distinguishes senders from receivers', () => {
    const of = (service: ServiceName, use: string, message: string) =>
      document.operations[`${service}.${use}.${message}`];
    expect(of('config-sources', 'owns', 'config.fact.file.v1')).toMatchObject({
      action: 'send',
      channel: { $ref: '#/channels/config.fact.file.v1.store' },
    });
    expect(of('sync-loop', 'reads', 'config.fact.file.v1')).toMatchObject({
      action: 'receive',
      channel: { $ref: '#/channels/config.fact.file.v1' },
    });
    expect(of('pod-workers', 'calls', 'runtime.cmd.RunPodSandbox.v1')).toMatchObject({
      action: 'send',
      reply: { channel: { $ref: '#/channels/replies' } },
    });
  });
});

describe('the JSON Schemas', () => {
  test('refer to each other by the given addresses and are each self-contained', () => {
    const schemas = jsonSchemas((name) => `${name}.json`);
    const files = new Set(Object.keys(schemas).map((name) => `${name}.json`));
    expect(refsIn(schemas).filter((ref) => !files.has(ref) && !ref.startsWith('#'))).toEqual([]);
    expect(schemas['config.fact.manifest.v1']).toMatchObject({ required: expect.arrayContaining(['path', 'errors']) });
  });
});

/** The errors of a message by the published contract. */
function faults({ headers, data }: WireMessage): string[] {
  const [, area, kind, name, version] = /^(\w+)\.(\w+)\.([\w.]+)\/(\d+)$/.exec(headers['Kubus-Type'] ?? '') ?? [];
  const mark = name?.endsWith('.complete') === true;
  const arrived = ['accepted', 'attached'].includes(headers['Kubus-Status'] ?? '');
  const message = mark
    ? 'completion'
    : arrived
      ? 'arrived'
      : `${area ?? ''}.${kind ?? ''}.${name ?? ''}.v${version ?? ''}`;
  const parts = [['headers', headers], ...(data === '' ? [] : [['payload', JSON.parse(data)]])] as const;
  return parts.flatMap(([part, value]) => {
    const validate = validator(`#/components/messages/${message}/${part}`);
    return validate(value) ? [] : [`${message} ${part}: ${ajv.errorsText(validate.errors)}`];
  });
}

describe('the messages of a node', () => {
  test('match the contract during the whole life of a pod that fails and is removed', async () => {
    const node = new SimulatedNode({
      random: new Random(1),
      logger: silentLogger,
      behaviour: () => ({ runMs: 3_000, exitCode: 1 }),
      maxPods: 10,
    });
    const said: WireMessage[] = [];
    node.broker.observe((message) => said.push(message));
    for (const service of simulatedServices) node.start(service);
    node.folder.files.set('/manifests/a.yaml', manifest('a', 'Always'));
    node.folder.files.set('/manifests/broken.yaml', 'apiVersion: v1\nkind: Pod\nspec: 7\n');
    await node.scheduler.run(() => false, 60_000);
    // The next worker fences the pod that it takes over; a new pod is fenced by its first command.
    node.kill('pod-workers-0');
    node.start('pod-workers');
    node.folder.files.delete('/manifests/a.yaml');
    node.folder.touch();
    await node.scheduler.run(() => false, 60_000);

    const types = new Set(said.map(({ headers }) => headers['Kubus-Type']));
    expect([...types]).toEqual(
      expect.arrayContaining([
        ...['config.fact.file/1', 'config.fact.file.complete/1', 'config.fact.manifest/1', 'sync.fact.pod/1'],
        ...['runtime.fact.pod/1', 'worker.fact.state/1', 'worker.fact.status/1', 'service.fact.instance/1'],
        ...['runtime.cmd.fence/1', 'runtime.reply.RunPodSandbox/1', 'runtime.cmd.CreateContainer/1'],
        ...['worker.event.recorded/1', 'runtime.event.hint/1', 'network.event.plugin/1'],
      ]),
    );
    expect(said.every(({ subject }) => decodeToken(subject.split('.')[1] ?? '') === NODE)).toBe(true);
    expect([...new Set(said.flatMap(faults))]).toEqual([]);

    // The check is effective: a missing header or an invalid payload is reported.
    const [status] = said.filter(
      ({ headers, data }) => headers['Kubus-Type'] === 'worker.fact.status/1' && data !== '',
    );
    if (status === undefined) throw new Error('no status was published');
    const { 'Kubus-Epoch': _epoch, ...incomplete } = status.headers;
    expect(faults({ ...status, headers: incomplete })).toHaveLength(1);
    expect(faults({ ...status, data: '{"status":{"phase":3}}' })).toHaveLength(1);
  });
});

function manifest(name: string, restartPolicy: string): string {
  return [
    'apiVersion: v1',
    'kind: Pod',
    `metadata: {name: ${name}}`,
    `spec: {restartPolicy: ${restartPolicy}, containers: [{name: c, image: busybox, imagePullPolicy: Never}]}`,
  ].join('\n');
}
