import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Pod, type PodStatus, podSchema } from '@kubus/contracts';
import { type JsonObject, TestApiServer } from '@kubus/kube-fixture';
import * as fc from 'fast-check';
import { statusPatch, wantedStatus } from '@kubus/pod-status';
import { statuses } from './statuses.ts';

let server: TestApiServer;
let made = 0;

const NOW = '2030-01-01T12:00:00Z';

beforeAll(async () => {
  server = await TestApiServer.start({ plain: true });
});

afterAll(() => server.close());

/** A pod of the API server that has this status, and a function that patches it. */
function stored(status: PodStatus): { pod: Pod; patch: (patch: object) => Pod } {
  const name = `p${(made += 1)}`;
  const target = { kind: 'Pod', name };
  server.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
  const { status: first } = podSchema.parse(server.get(target));
  const cleared = Object.fromEntries(Object.keys(first ?? {}).map((field) => [field, null]));
  const set = server.patch(target, { status: { ...cleared, ...status } }, { subresource: 'status' });
  return {
    pod: podSchema.parse(set),
    patch: (patch) =>
      podSchema.parse(server.patch(target, patch as JsonObject, { kind: 'strategic-merge', subresource: 'status' })),
  };
}

test('for any statuses of the API server and the node, the patch gives the wanted status, and no second patch is needed', () => {
  fc.assert(
    fc.property(statuses, statuses, fc.boolean(), (before, node, mayRun) => {
      const { pod: api, patch } = stored(before);
      const wanted = wantedStatus({ api, node, mayRun, now: NOW });
      const change = statusPatch(api, wanted);
      if (change === undefined) return;
      const after = patch(change);
      expect(statusPatch(after, wanted)).toBeUndefined();
      // Time has passed.
      const again = wantedStatus({ api: after, node, mayRun, now: '2030-01-01T13:00:00Z' });
      expect(statusPatch(after, again)).toBeUndefined();
      // What other clients have written is unchanged.
      const foreign = ({ conditions = [] }: PodStatus) => conditions.filter(({ type }) => type === 'a.io/gate');
      expect(foreign(after.status ?? {})).toEqual(foreign(api.status ?? {}));
      expect(after.status?.nominatedNodeName).toBe(api.status?.nominatedNodeName);
    }),
    { numRuns: 300 },
  );
});

test('a patch for another pod of the same name is refused', () => {
  const { pod: api, patch } = stored({ phase: 'Pending' });
  const change = statusPatch({ ...api, metadata: { ...api.metadata, uid: 'gone' } }, { phase: 'Running' });
  expect(() => patch(change ?? {})).toThrow(
    expect.objectContaining({ status: expect.objectContaining({ code: 422 }) }),
  );
});
