import { type DescMessage, type JsonValue, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as z from 'zod';
import { criCodecs } from '../src/cri-grpc.ts';
import {
  type CriMethod,
  ContainerStatusSchema,
  ExecSyncResponseSchema,
  LinuxContainerResourcesSchema,
  MountSchema,
  criMethods,
} from '../src/cri.ts';
import { compiled } from './compiled.ts';
import { jsonValues } from './json-values.ts';

const services = compiled().getFile('runtime/v1/api.proto')?.services ?? [];
const methods = services.flatMap((service) =>
  service.methods.map((method) => ({ name: method.name as CriMethod, service: service.name, method })),
);

/** Our codec leaves out empty lists and maps; the reference prints them with its other implicit values. */
function withoutEmpty(desc: DescMessage, json: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const field of desc.fields) {
    const value = json[field.jsonName];
    const empty = (field.fieldKind === 'list' || field.fieldKind === 'map') && Object.keys(value ?? {}).length === 0;
    if (value === undefined || empty) {
      continue;
    }
    if (field.fieldKind === 'message') {
      kept[field.jsonName] = withoutEmpty(field.message, value as Record<string, unknown>);
    } else if (field.fieldKind === 'list' && field.listKind === 'message') {
      kept[field.jsonName] = (value as Record<string, unknown>[]).map((item) => withoutEmpty(field.message, item));
    } else {
      kept[field.jsonName] = value;
    }
  }
  return kept;
}

/** What our decoder must give: the JSON mapping with scalars and enums always there. */
function reference(desc: DescMessage, bytes: Uint8Array): unknown {
  const json = toJson(desc, fromBinary(desc, bytes), { alwaysEmitImplicit: true });
  return withoutEmpty(desc, json as Record<string, unknown>);
}

describe('the method table', () => {
  it('lists what the .proto file declares', () => {
    const declared = methods.map(({ name, service, method }) => [
      name,
      service,
      method.methodKind === 'server_streaming' ? 'server-stream' : 'unary',
      `/runtime.v1.${service}/${name}`,
    ]);
    const table = Object.entries(criMethods).map(([name, { service, kind }]) => [
      name,
      service,
      kind,
      criCodecs[name as CriMethod].path,
    ]);
    expect(table).toEqual(declared);
  });
});

describe.each(methods)('$name', ({ name, method }) => {
  const runs = { numRuns: 25 };

  it.each(['request', 'response'] as const)('%s: the schema takes every value of the JSON mapping as it is', (side) => {
    const schema: z.ZodType = criMethods[name][side];
    fc.assert(
      fc.property(jsonValues(side === 'request' ? method.input : method.output), (json) => {
        expect(schema.parse(json)).toEqual(json);
      }),
      runs,
    );
  });

  it('requests and responses are encoded as the reference does', () => {
    const codec = criCodecs[name];
    fc.assert(
      fc.property(jsonValues(method.input), jsonValues(method.output), (request, response) => {
        expect(reference(method.input, codec.encodeRequest(request as never))).toEqual(
          reference(method.input, toBinary(method.input, fromJson(method.input, request as JsonValue))),
        );
        expect(reference(method.output, codec.encodeResponse(response as never))).toEqual(
          reference(method.output, toBinary(method.output, fromJson(method.output, response as JsonValue))),
        );
      }),
      runs,
    );
  });

  it('requests and responses are decoded as the reference does, zero values included', () => {
    const codec = criCodecs[name];
    fc.assert(
      fc.property(jsonValues(method.input), jsonValues(method.output), (request, response) => {
        const requestBytes = toBinary(method.input, fromJson(method.input, request as JsonValue));
        const responseBytes = toBinary(method.output, fromJson(method.output, response as JsonValue));
        expect(codec.decodeRequest(requestBytes)).toEqual(reference(method.input, requestBytes));
        expect(codec.decodeResponse(responseBytes)).toEqual(reference(method.output, responseBytes));
      }),
      runs,
    );
  });

  it('its schemas can be published as JSON Schema', () => {
    for (const io of ['input', 'output'] as const) {
      expect(z.toJSONSchema(criMethods[name].request, { io })).toHaveProperty('type', 'object');
      expect(z.toJSONSchema(criMethods[name].response, { io })).toHaveProperty('type', 'object');
    }
  });
});

describe('64-bit integers', () => {
  it.each([
    ['text', '9223372036854775807', '9223372036854775807'],
    ['the smallest', '-9223372036854775808', '-9223372036854775808'],
    ['a number', 1024, '1024'],
  ])('%s is taken and comes out as text', (_case, given, parsed) => {
    expect(LinuxContainerResourcesSchema.parse({ cpuShares: given })).toEqual({ cpuShares: parsed });
  });

  it.each([
    ['too large', '9223372036854775808'],
    ['too small', '-9223372036854775809'],
    ['a fraction', 1.5],
    ['a number beyond what JavaScript holds exactly', 2 ** 53],
    ['a word', 'many'],
    ['empty', ''],
  ])('%s is refused, with the path of the field', (_case, given) => {
    const result = LinuxContainerResourcesSchema.safeParse({ cpuShares: given });
    expect(result.error?.issues.map(({ path }) => path)).toEqual([['cpuShares']]);
  });

  it('an unsigned one is never negative', () => {
    const limits = (limit: unknown) => ({ hugepageLimits: [{ pageSize: '2MB', limit }] });
    expect(LinuxContainerResourcesSchema.safeParse(limits('-1')).success).toBe(false);
    expect(LinuxContainerResourcesSchema.safeParse(limits('18446744073709551615')).success).toBe(true);
    expect(LinuxContainerResourcesSchema.safeParse(limits('18446744073709551616')).success).toBe(false);
  });
});

describe('enums', () => {
  it('are known by name only', () => {
    expect(MountSchema.safeParse({ propagation: 'PROPAGATION_BIDIRECTIONAL' }).success).toBe(true);
    expect(MountSchema.safeParse({ propagation: 'PROPAGATION_SIDEWAYS' }).success).toBe(false);
    expect(MountSchema.safeParse({ propagation: 1 }).success).toBe(false);
  });

  it('of a newer runtime are distinguished from known ones', () => {
    // ContainerStatusResponse.status (1) holding ContainerStatus.state (3) = 9, which has no name.
    const { status } = criCodecs.ContainerStatus.decodeResponse(Uint8Array.of(0x0a, 0x02, 0x18, 0x09));
    expect(status?.state).toBe('UNRECOGNIZED');
    expect(ContainerStatusSchema.safeParse(status).success).toBe(true);
  });
});

describe('bytes', () => {
  it.each(['', 'YQ==', 'YWI', '-_-_', '+/+/'])('%j is base64', (stdout) => {
    expect(ExecSyncResponseSchema.parse({ stdout })).toEqual({ stdout });
  });

  it.each(['ä', 'a b', '===='])('%j is not', (stdout) => {
    expect(ExecSyncResponseSchema.safeParse({ stdout }).success).toBe(false);
  });

  it('may be as large as a gRPC message', () => {
    const stdout = 'A'.repeat(22 * 1024 * 1024);
    expect(ExecSyncResponseSchema.safeParse({ stdout }).success).toBe(true);
  });
});

it('fields that the contract does not have are dropped', () => {
  expect(MountSchema.parse({ hostPath: '/a', colour: 'red' })).toEqual({ hostPath: '/a' });
});
