import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import { type StoredMessage, briefOf, checkCausality, podTimeline } from '@kubus/causality';
import { bareType, possibleRoots, serviceContracts, typeOf } from '@kubus/contracts';
import { type TestNode, isReady, startNode } from '@kubus/harness';
import { Random } from '@kubus/simulation';
import { recordFailure } from '../src/failure-record.ts';
import { runPhase } from '../src/kill-phase.ts';
import { planKills } from '../src/kill-plan.ts';
import { type NamedPod, manyPods } from '../src/many-pods.ts';

const SEED = Number(process.env['KUBUS_E2E_SEED'] ?? 1);

/** Every service that a pod on a node without a cluster has to do with; of those that share the pods two instances. */
const victims = [
  ...(['config-sources-0', 'sync-loop-0', 'pod-workers-0', 'pod-workers-1', 'prober-0', 'prober-1'] as const),
  ...(['volume-manager-0', 'cri-bridge-0', 'cni-bridge-0'] as const),
];
const phases = ['create', 'delete'] as const;
const pods = manyPods(50);

/** Ends what hangs: 50 pods over kills take as long as the machine needs, in milliseconds. */
const LIMIT_MS = 300_000;

let node: TestNode;
let messages: readonly StoredMessage[];

beforeAll(async () => {
  node = await startNode({ scale: { 'pod-workers': 2, prober: 2 } });
  try {
    await liveAndDie();
  } catch (error) {
    await recordFailure(node, `causality-seed-${SEED}`, `seed ${SEED}`);
    throw error;
  }
  messages = await node.watch.record();
}, 3 * LIMIT_MS);

/** Makes all pods and takes them away again, and kills services all the while. */
async function liveAndDie(): Promise<void> {
  const plan = planKills(SEED, { phases, victims, afterCommands: 7 });
  const killed = new Set<number>();
  const kill = async (victim: (typeof victims)[number]) => {
    killed.add((await node.kill(victim)).pid);
  };
  const isBack = (victim: string) => {
    const pid = node.watch.instance(victim)?.pid;
    return pid !== undefined && !killed.has(pid);
  };
  const isRight = ({ name, ends }: NamedPod) => {
    const [view] = node.watch.podsNamed(name);
    return view !== undefined && (ends ? view.status?.phase === 'Succeeded' : isReady(view));
  };
  const settled = (what: string, right: () => boolean) =>
    node.watch.until(what, () => (right() && victims.every(isBack) ? true : undefined), LIMIT_MS);
  const create = pods.map(
    ({ name, manifest }) =>
      () =>
        node.writeManifest(`${name}.json`, manifest),
  );
  await runPhase({ node, kills: plan.get('create') ?? [], actions: create, kill });
  await settled('every pod runs or has ended', () => pods.every(isRight));
  const remove = pods.map(
    ({ name }) =>
      () =>
        node.removeManifest(`${name}.json`),
  );
  await runPhase({ node, kills: plan.get('delete') ?? [], actions: remove, kill });
  await settled('no pod is left', () => node.watch.pods.length === 0);
}

afterAll(async () => {
  await node.stop();
}, 120_000);

test('every message but the roots has its causes in the record, received before it was published, and allowed', async () => {
  expect(messages.length).toBeGreaterThan(2_000);
  const findings = [...checkCausality(messages, serviceContracts)];
  if (findings.length > 0) await recordFailure(node, `causality-seed-${SEED}`, `seed ${SEED}`);
  expect(findings.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([]);
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
    const found = [...checkCausality(damaged, serviceContracts)].map(({ kind, message }) => `${kind} ${message}`);
    expect(found.sort()).toEqual([...cut].map((stored) => `undeclared-root ${briefOf(stored)?.id ?? ''}`).sort());
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
