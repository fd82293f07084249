import { HEADER } from '@kubus/bus';
import { type PathMessage, type PodPaths, pathSteps } from '@kubus/causality';
import type { CriticalPath, MessageKind, PodSummary } from '@kubus/contracts/observatory';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { parseId } from './message-row.ts';
import type { PodStory } from './pod-story.ts';

const MESSAGE = `SELECT m.seq, m.at, m.pod, m.number, s.source, s.epoch, s.service, t.type, t.kind, b.headers
  FROM messages m JOIN bodies b USING (seq) JOIN speakers s ON s.id = m.speaker JOIN types t ON t.id = m.type`;

/** Finds the steps of pods' starts and stops while a recording is written. */
export class PathTracer {
  readonly #bySeq: StatementSync;
  readonly #byId: StatementSync;
  readonly #addStep: StatementSync;
  readonly #findStep: StatementSync;
  readonly #addPath: StatementSync;
  readonly #steps = new Map<string, number>();

  constructor(database: DatabaseSync) {
    this.#bySeq = database.prepare(`${MESSAGE} WHERE m.seq = ?`);
    this.#byId = database.prepare(
      `${MESSAGE} WHERE m.speaker = (SELECT id FROM speakers WHERE source = ? AND epoch = ?) AND m.number = ?
       ORDER BY m.seq LIMIT 1`,
    );
    this.#addStep = database.prepare('INSERT OR IGNORE INTO steps (step, service) VALUES (?, ?)');
    this.#findStep = database.prepare('SELECT id FROM steps WHERE step = ? AND service = ?');
    this.#addPath = database.prepare('INSERT OR REPLACE INTO paths VALUES (?, ?, ?, ?)');
  }

  /** If the first message of a path was dropped, the earlier result is kept. */
  trace(pod: number, story: PodStory): void {
    for (const what of ['start', 'stop'] as const) {
      const way = story[what];
      if (way === undefined) continue;
      const [from, to] = [this.#message(pod, this.#bySeq, way.from), this.#message(pod, this.#bySeq, way.to)];
      if (from === undefined || to === undefined) continue;
      const steps = pathSteps(from, to, (id) => this.#find(pod, id));
      const indexed = steps.map(({ step, service, ms }) => [this.#step(step, service), ms]);
      this.#addPath.run(pod, what, way.ms, JSON.stringify(indexed));
    }
  }

  /** Must be called after a transaction was rolled back. */
  forget(): void {
    this.#steps.clear();
  }

  #find(pod: number, id: string): PathMessage | undefined {
    const parts = parseId(id);
    return parts && this.#message(pod, this.#byId, parts.source, parts.epoch, parts.number);
  }

  /** Undefined for a message of another pod, which is not part of the story. */
  #message(pod: number, found: StatementSync, ...values: SQLInputValue[]): PathMessage | undefined {
    const row = found.get(...values);
    if (row === undefined || (row['pod'] !== null && row['pod'] !== pod)) return undefined;
    const headers = JSON.parse(String(row['headers'])) as Record<string, string | undefined>;
    return {
      id: `${String(row['source'])}.${String(row['epoch'])}.${String(row['number'])}`,
      type: String(row['type']),
      kind: String(row['kind']) as MessageKind,
      service: String(row['service']),
      at: Number(row['at']),
      causes: headers[HEADER.causes]?.split(',') ?? [],
    };
  }

  #step(step: string, service: string): number {
    const key = `${service} ${step}`;
    const known = this.#steps.get(key);
    if (known !== undefined) return known;
    this.#addStep.run(step, service);
    const id = Number(this.#findStep.get(step, service)?.['id']);
    this.#steps.set(key, id);
    return id;
  }
}

/** The paths of one kind, by pod in the order of `pods`; a pod without a complete one is left out. */
export function* readPaths(
  database: DatabaseSync,
  what: CriticalPath['what'],
  pods: readonly PodSummary[],
): Generator<PodPaths> {
  const steps = new Map(
    database
      .prepare('SELECT * FROM steps')
      .all()
      .map(({ id, step, service }) => [Number(id), { step: String(step), service: String(service) }]),
  );
  const paths = new Map(
    database
      .prepare('SELECT p.uid, w.ms, w.steps FROM paths w JOIN pods p ON p.id = w.pod WHERE w.what = ?')
      .all(what)
      .map((row) => [String(row['uid']), row]),
  );
  for (const pod of pods) {
    const row = paths.get(pod.uid);
    if (row === undefined) continue;
    const indexed = JSON.parse(String(row['steps'])) as [number, number][];
    const segments = indexed.map(([id, ms]) => ({ step: '', service: '', ...steps.get(id), ms }));
    yield { pod, paths: [{ what, ms: Number(row['ms']), segments }] };
  }
}
