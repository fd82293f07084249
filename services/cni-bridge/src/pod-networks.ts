import { type Cause, type FactOwner, parseCause } from '@kubus/bus';
import { type AttachmentKey, recordKey } from '@kubus/cni-config';
import type { PodAttachment, PodNetwork } from '@kubus/contracts';
import type { Checks } from './attachments.ts';
import type { AttachedPod, AttachmentView } from './options.ts';

interface Entry {
  /** As it was when it last was not being made or removed. */
  view?: AttachmentView;
  /** The newest run of a plugin for it. */
  cause?: Cause | undefined;
}

interface PodEntry {
  readonly ref: AttachedPod;
  /** By the keys of their records. */
  readonly attachments: Map<string, Entry>;
  told?: string;
}

/** What network each pod has, as a fact: put together from its attachments and what their checks have found. */
export class PodNetworks {
  readonly #facts: FactOwner<PodNetwork>;
  readonly #pods = new Map<string, PodEntry>();
  /** What the last look at all attachments found wrong, by their keys. */
  #wrong: ReadonlyMap<string, string> = new Map();

  constructor(facts: FactOwner<PodNetwork>) {
    this.#facts = facts;
  }

  /** An attachment has entered another phase. Those of nobody knows which pod are left out. */
  changed(view: AttachmentView): void {
    const { pod, phase } = view;
    const key = recordKey(view);
    if (phase === 'absent') {
      this.#drop(key);
      return;
    }
    if (pod === undefined || pod.uid === '') return;
    const { attachments } = this.#podOf(pod);
    const entry = attachments.get(key) ?? {};
    attachments.set(key, entry);
    // One that is being made is not there yet, and one that is being removed still is.
    if (phase === 'adding' || phase === 'removing') return;
    entry.view = view;
    // Of one that an earlier life has made, no run is known here.
    entry.cause ??= view.causedBy === undefined ? undefined : parseCause(view.causedBy);
    this.#publish(pod.uid, entry.cause);
  }

  /** A plugin was run for an attachment: the cause of what is told of it next. */
  ran(uid: string, key: AttachmentKey, cause: Cause): void {
    const entry = this.#pods.get(uid)?.attachments.get(recordKey(key));
    if (entry !== undefined) entry.cause = cause;
  }

  /** All attachments were looked at. */
  checked({ failed }: Checks): void {
    this.#wrong = new Map(failed.map(({ attachment, error }) => [recordKey(attachment), error.message]));
    for (const [uid, { attachments }] of this.#pods) {
      this.#publish(uid, [...attachments.values()].findLast(({ cause }) => cause !== undefined)?.cause);
    }
  }

  /** The attachments of the last life are known. */
  complete(): void {
    this.#facts.complete();
  }

  #podOf(ref: AttachedPod): PodEntry {
    const entry = this.#pods.get(ref.uid) ?? { ref, attachments: new Map<string, Entry>() };
    this.#pods.set(ref.uid, entry);
    return entry;
  }

  #drop(key: string): void {
    for (const [uid, { attachments }] of this.#pods) {
      const entry = attachments.get(key);
      if (entry === undefined) continue;
      attachments.delete(key);
      this.#publish(uid, entry.cause);
      if (attachments.size === 0) this.#pods.delete(uid);
      return;
    }
  }

  #publish(uid: string, cause?: Cause): void {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    const views = [...entry.attachments.values()].flatMap(({ view }) => view ?? []);
    const attachments = views.map((view) => attachmentOf(view, this.#wrong.get(recordKey(view))));
    const told = JSON.stringify(attachments);
    if (told === (entry.told ?? '[]')) return;
    entry.told = told;
    const options = { pod: uid, causes: cause === undefined ? [] : [cause] };
    if (attachments.length === 0) this.#facts.remove(uid, options);
    else this.#facts.put(uid, { ref: entry.ref, attachments }, options);
  }
}

function attachmentOf(view: AttachmentView, wrong: string | undefined): PodAttachment {
  const { containerId, ifname, network = '', plugins = [], askedAt = 0, result, error } = view;
  const problem = error ?? wrong;
  return {
    containerId,
    ifname,
    network,
    plugins: [...plugins],
    since: new Date(askedAt).toISOString(),
    interfaces: (result?.interfaces ?? []).map(({ name, mac, mtu, sandbox }) => ({ name, mac, mtu, sandbox })),
    ips: result?.ips ?? [],
    routes: (result?.routes ?? []).map(({ dst, gw }) => ({ dst, gw })),
    dns: result?.dns ?? {},
    ...(problem !== undefined && { problem }),
  };
}
