import { HEADER, type StoredMessage } from '@kubus/bus';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type CausalFinding, briefOf, checkCausality, payloadOf, podTimeline } from '@kubus/causality';
import {
  bareType,
  desiredPods,
  podStatus,
  possibleRoots,
  serviceContracts,
  statusWrite,
  statusWriteSchema,
  typeOf,
} from '@kubus/contracts';
import { type TestNode, startNode, isSoak, testSeed } from '@kubus/harness';
import { Random } from '@kubus/ports';
import { type ClusterNode, sharedClusterNode } from '../src/cluster-node.ts';
import { ClusterPods } from '../src/cluster-pods.ts';
import { recordFailure } from '../src/failure-record.ts';
import { type KillStories, type Outage, STORIES_MS, killStories } from '../src/kill-stories.ts';
import { lostWithNats } from '../src/lost-with-nats.ts';
import { manyPods } from '../src/many-pods.ts';

const SEED = testSeed('causality');

/** The services of a pod on any node, NATS and the runtime. */
const everyNodes = [
  ...(['config-sources-0', 'sync-loop-0', 'pod-workers-0', 'prober-0'] as const),
  ...(['volume-manager-0', 'cri-bridge-0', 'cni-bridge-0', 'nats-server', 'containerd'] as const),
];

/** All messages of a node. */
interface Said {
  readonly node: TestNode;
  readonly messages: readonly StoredMessage[];
  readonly outages: readonly Outage[];
}

/** Pods run and end on a node whose processes are killed. */
async function liveAndDie(how: Omit<KillStories, 'seed'>): Promise<Said> {
  const { node } = how;
  try {
    const outages = await killStories({ ...how, seed: SEED });
    return { node, messages: await node.watch.record(), outages };
  } catch (error) {
    await recordFailure(node, `causality-seed-${SEED}`, `seed ${SEED}`);
    throw error;
  }
}

/** The violations of causality in the messages, except causes that were lost with NATS when it was killed. */
function wrongCauses({ messages, outages }: Pick<Said, 'messages' | 'outages'>): CausalFinding[] {
  const isLost = lostWithNats(messages, outages);
  return [...checkCausality(messages, serviceContracts)].filter(
    ({ kind, cause }) => kind !== 'lost-cause' || cause === undefined || !isLost(cause),
  );
}

/** The violations as text; if there are any, all messages are kept with them. */
async function findingsOf(said: Said): Promise<string[]> {
  const { node } = said;
  const findings = wrongCauses(said);
  if (findings.length > 0) await recordFailure(node, `causality-seed-${SEED}`, `seed ${SEED}`);
  return findings.map(({ kind, text }) => `${kind}: ${text}`);
}

describe('a standalone node', () => {
  const pods = manyPods(isSoak ? 50 : 12);
  let node: TestNode | undefined;
  let said: Said;
  let messages: readonly StoredMessage[];

  beforeAll(async () => {
    const started = await startNode({ scale: { 'pod-workers': 2, prober: 2 } });
    node = started;
    said = await liveAndDie({
      node,
      victims: [...everyNodes, 'pod-workers-1', 'prober-1'],
      afterCommands: 8,
      pods,
      create: ({ name, manifest }) => started.writeManifest(`${name}.json`, manifest),
      remove: ({ name }) => started.removeManifest(`${name}.json`),
    });
    ({ messages } = said);
  }, 3 * STORIES_MS);

  afterAll(() => node?.stop());

  test('every message but the roots has its causes in the record, received before it was published, and allowed', async () => {
    expect(messages.length).toBeGreaterThan(40 * pods.length);
    expect(said.outages).toHaveLength(2);
    expect(await findingsOf(said)).toEqual([]);
  });

  describe('a message that has lost its causes is found', () => {
    const roots = new Set(possibleRoots.map(({ type }) => bareType(typeOf(type))));

    test('for any message of a type that always has a cause', () => {
      const random = new Random(SEED);
      const seen = new Set<string>();
      const candidates = messages.filter((stored) => {
        const { id = '', type = '', causes = [], kind } = briefOf(stored) ?? {};
        // Messages that were stored twice have another copy.
        if (causes.length === 0 || seen.has(id) || (kind !== 'reply' && roots.has(bareType(type)))) return false;
        seen.add(id);
        return true;
      });
      const twice = new Set(
        [...Map.groupBy(messages, (stored) => briefOf(stored)?.id ?? '')].flatMap(([id, all]) =>
          all.length > 1 ? [id] : [],
        ),
      );
      const once = candidates.filter((stored) => !twice.has(briefOf(stored)?.id ?? ''));
      expect(once.length).toBeGreaterThan(20 * pods.length);
      const cut = new Set(Array.from({ length: 20 }, () => random.pick(once)));
      const damaged = messages.map((stored) => (cut.has(stored) ? withoutCauses(stored) : stored));
      const found = wrongCauses({ ...said, messages: damaged }).map(({ kind, message }) => `${kind} ${message}`);
      expect(found.sort()).toEqual([...cut].map((stored) => `undeclared-root ${briefOf(stored)?.id ?? ''}`).sort());
    });

    test('a missing message is found, except during an outage of NATS', () => {
      const random = new Random(SEED);
      const causes = new Set(messages.flatMap((stored) => briefOf(stored)?.causes ?? []));
      const candidates = messages.filter((stored) => causes.has(briefOf(stored)?.id ?? ''));
      const missing = new Set(Array.from({ length: 40 }, () => briefOf(random.pick(candidates))?.id ?? ''));
      const left = messages.filter((stored) => !missing.has(briefOf(stored)?.id ?? ''));
      const found = wrongCauses({ ...said, messages: left });
      const lost = new Set(found.map(({ kind, cause }) => `${kind} ${cause ?? ''}`));
      expect([...lost].filter((one) => !missing.has(one.replace(/^lost-cause /, '')))).toEqual([]);
      expect(lost.size).toBeGreaterThan(missing.size / 2);
    });

    function withoutCauses(stored: StoredMessage): StoredMessage {
      const {
        [HEADER.causes]: _causes,
        [HEADER.received]: _heard,
        [HEADER.began]: _began,
        ...headers
      } = stored.message.headers;
      return { ...stored, message: { ...stored.message, headers } };
    }
  });

  test('the steps of each critical path add up to the latency between its ends', () => {
    const byPod = Map.groupBy(messages, ({ message }) => message.headers[HEADER.pod]);
    const nobodys = byPod.get(undefined) ?? [];
    const timelines = [...byPod]
      .flatMap(([uid, own]) => (uid === undefined ? [] : [podTimeline(uid, [...nobodys, ...own])]))
      .filter(({ pod }) => pod.name !== '');
    expect(timelines.length).toBe(pods.length);
    const paths = timelines.flatMap(({ paths: all }) => all);
    const count = (what: 'start' | 'stop') => paths.filter((path) => path.what === what).length;
    expect(count('start')).toBe(pods.length);
    // A manifest that is removed during an outage of NATS is only missing in the completion mark: such a stop has no
    // start in the record.
    const removed = timelines.filter(({ messages: own }) =>
      own.some(({ type, summary }) => type.startsWith('config.fact.file/') && summary === 'removed'),
    );
    expect(removed.length).toBeGreaterThan(0);
    expect(count('stop')).toBe(removed.length);
    const times = new Map(messages.map(({ seq, message }) => [seq, Date.parse(message.headers[HEADER.time] ?? '')]));
    for (const { from, to, segments } of paths) {
      const sum = segments.reduce((whole, { busMs, queueMs, workMs }) => whole + busMs + queueMs + workMs, 0);
      const measured = (times.get(to.seq) ?? NaN) - (times.get(from.seq) ?? NaN);
      // Both ends are truncated to milliseconds.
      expect(Math.abs(sum - measured)).toBeLessThanOrEqual(1);
    }
  });
});

describe('a node of a cluster', () => {
  const pods = manyPods(isSoak ? 12 : 4);
  let said: Said;

  sharedClusterNode({}, async ({ node, cluster }: ClusterNode) => {
    const own = new ClusterPods({ node, cluster });
    said = await liveAndDie({
      node,
      victims: [...everyNodes, 'object-cache-0', 'status-manager-0', 'node-agent-0', 'node-api-0'],
      afterCommands: 4,
      pods,
      create: ({ manifest }) => own.create(manifest),
      remove: ({ name }) => cluster.api.delete({ kind: 'Pod', name }),
    });
  });

  test('every message but the roots has its causes in the record, received before it was published, and allowed', async () => {
    expect(said.messages.length).toBeGreaterThan(40 * pods.length);
    expect(said.outages).toHaveLength(2);
    expect(await findingsOf(said)).toEqual([]);
  });

  test('writes to the API server have causes back to the events of the API server', () => {
    const briefs = new Map(
      said.messages.flatMap((stored) => {
        const brief = briefOf(stored);
        return brief === undefined ? [] : [[brief.id, brief] as const];
      }),
    );
    const typesBefore = (id: string, types = new Set<string>()): ReadonlySet<string> => {
      const seen = new Set<string>();
      const left = [id];
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        if (seen.has(next)) continue;
        seen.add(next);
        const brief = briefs.get(next);
        if (brief === undefined) continue;
        types.add(brief.type);
        left.push(...brief.causes);
      }
      return types;
    };
    const wrote = said.messages.filter(({ message }) => {
      if (message.headers[HEADER.type] !== typeOf(statusWrite)) return false;
      return statusWriteSchema.safeParse(payloadOf(message)).data?.state === 'written';
    });
    const whole = wrote.filter((stored) => {
      const types = typesBefore(briefOf(stored)?.id ?? '');
      return types.has(typeOf(podStatus)) && types.has(typeOf(desiredPods.api));
    });
    const podsOf = (some: readonly StoredMessage[]) => new Set(some.map(({ message }) => message.headers[HEADER.pod]));
    expect(podsOf(wrote).size).toBe(pods.length);
    expect(podsOf(whole)).toEqual(podsOf(wrote));
  });
});
