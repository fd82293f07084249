import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import {
  type CausalFinding,
  type StoredMessage,
  briefOf,
  checkCausality,
  payloadOf,
  podTimeline,
} from '@kubus/causality';
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
import { type TestNode, startNode } from '@kubus/harness';
import { Random } from '@kubus/simulation';
import { type ClusterNode, sharedClusterNode } from '../src/cluster-node.ts';
import { ClusterPods } from '../src/cluster-pods.ts';
import { recordFailure } from '../src/failure-record.ts';
import { type KillStories, type Outage, STORIES_MS, killStories } from '../src/kill-stories.ts';
import { lostWithNats } from '../src/lost-with-nats.ts';
import { manyPods } from '../src/many-pods.ts';

const SEED = Number(process.env['KUBUS_E2E_SEED'] ?? 1);

/** Every service that a pod on any node has to do with, and what they talk over and to. */
const everyNodes = [
  ...(['config-sources-0', 'sync-loop-0', 'pod-workers-0', 'prober-0'] as const),
  ...(['volume-manager-0', 'cri-bridge-0', 'cni-bridge-0', 'nats-server', 'containerd'] as const),
];

/** What a node has said in its whole life. */
interface Said {
  readonly node: TestNode;
  readonly messages: readonly StoredMessage[];
  readonly outages: readonly Outage[];
}

/** Pods live and die on a node over kills. */
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

/** What is wrong with the causes of what was said, but for causes that NATS took with it when it was killed. */
function wrongCauses({ messages, outages }: Pick<Said, 'messages' | 'outages'>): CausalFinding[] {
  const isLost = lostWithNats(messages, outages);
  return [...checkCausality(messages, serviceContracts)].filter(
    ({ kind, cause }) => kind !== 'lost-cause' || cause === undefined || !isLost(cause),
  );
}

/** What is wrong, for people; kept with all that was said if anything is. */
async function findingsOf(said: Said): Promise<string[]> {
  const { node } = said;
  const findings = wrongCauses(said);
  if (findings.length > 0) await recordFailure(node, `causality-seed-${SEED}`, `seed ${SEED}`);
  return findings.map(({ kind, text }) => `${kind}: ${text}`);
}

describe('a node by itself', () => {
  const pods = manyPods(50);
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

  afterAll(() => node?.stop(), 120_000);

  test('every message but the roots has its causes in the record, received before it was published, and allowed', async () => {
    expect(messages.length).toBeGreaterThan(2_000);
    expect(said.outages).toHaveLength(2);
    expect(await findingsOf(said)).toEqual([]);
  });

  describe('a message that has lost its causes is found', () => {
    const roots = new Set(possibleRoots.map(({ type }) => bareType(typeOf(type))));

    test('whichever it is, of a type that always has one', () => {
      const random = new Random(SEED);
      const seen = new Set<string>();
      const candidates = messages.filter((stored) => {
        const { id = '', type = '', causes = [], kind } = briefOf(stored) ?? {};
        // Of what was stored twice, the other one still tells.
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
      expect(once.length).toBeGreaterThan(1_000);
      const cut = new Set(Array.from({ length: 20 }, () => random.pick(once)));
      const damaged = messages.map((stored) => (cut.has(stored) ? withoutCauses(stored) : stored));
      const found = wrongCauses({ ...said, messages: damaged }).map(({ kind, message }) => `${kind} ${message}`);
      expect(found.sort()).toEqual([...cut].map((stored) => `undeclared-root ${briefOf(stored)?.id ?? ''}`).sort());
    });

    test('and so is a message that is missing, unless NATS was being killed or away just then', () => {
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
        [HEADER.heard]: _heard,
        [HEADER.began]: _began,
        ...headers
      } = stored.message.headers;
      return { ...stored, message: { ...stored.message, headers } };
    }
  });

  test('the steps of each critical path add up to the latency that its ends have', () => {
    const byPod = Map.groupBy(messages, ({ message }) => message.headers[HEADER.pod]);
    const nobodys = byPod.get(undefined) ?? [];
    const timelines = [...byPod]
      .flatMap(([uid, own]) => (uid === undefined ? [] : [podTimeline(uid, [...nobodys, ...own])]))
      .filter(({ pod }) => pod.name !== '');
    expect(timelines.length).toBe(pods.length);
    const paths = timelines.flatMap(({ paths: all }) => all);
    for (const what of ['start', 'stop'] as const) {
      expect(paths.filter((path) => path.what === what).length).toBe(pods.length);
    }
    const times = new Map(messages.map(({ seq, message }) => [seq, Date.parse(message.headers[HEADER.time] ?? '')]));
    for (const { from, to, segments } of paths) {
      const sum = segments.reduce((whole, { busMs, queueMs, workMs }) => whole + busMs + queueMs + workMs, 0);
      const measured = (times.get(to.seq) ?? NaN) - (times.get(from.seq) ?? NaN);
      // Both ends are cut to milliseconds here.
      expect(Math.abs(sum - measured)).toBeLessThanOrEqual(1);
    }
  });
});

describe('a node of a cluster', () => {
  const pods = manyPods(12);
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
    expect(said.messages.length).toBeGreaterThan(500);
    expect(said.outages).toHaveLength(2);
    expect(await findingsOf(said)).toEqual([]);
  });

  test('what was written to the API server has its causes back to what the API server told', () => {
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
