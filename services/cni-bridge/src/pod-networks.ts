import { type Cause, type FactOwner, parseCause } from '@kubus/bus';
import { type AttachmentKey, recordKey } from '@kubus/cni-config';
import type { PodAttachment, PodNetwork } from '@kubus/contracts';
import type { Checks } from './attachments.ts';
import type { AttachedPod, AttachmentView } from './options.ts';

interface Entry {
  /** The last state in which the attachment was neither being made nor removed. */
  view?: AttachmentView;
  /** The newest plugin run for the attachment. */
  cause?: Cause | undefined;
}

interface PodEntry {
  readonly ref: AttachedPod;
  /** By attachment key. */
  readonly attachments: Map<string, Entry>;
  published?: string;
}

/** Publishes each pod's network as a fact, from its attachments and the results of their checks. */
export class PodNetworks {
  readonly #facts: FactOwner<PodNetwork>;
  readonly #pods = new Map<string, PodEntry>();
  /** Problems found by the last check, by attachment key. */
  #problems: ReadonlyMap<string, string> = new Map();

  constructor(facts: FactOwner<PodNetwork>) {
    this.#facts = facts;
  }

  /** An attachment has entered another phase. Attachments without a known pod are left out. */
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
    // An attachment that is being made is not published yet; one that is being removed still is.
    if (phase === 'adding' || phase === 'removing') return;
    entry.view = view;
    // No plugin run of the previous process is known here.
    entry.cause ??= view.causedBy === undefined ? undefined : parseCause(view.causedBy);
    this.#publish(pod.uid, entry.cause);
  }

  /** A plugin was run for an attachment: the cause of its next fact. */
  ran(uid: string, key: AttachmentKey, cause: Cause): void {
    const entry = this.#pods.get(uid)?.attachments.get(recordKey(key));
    if (entry !== undefined) entry.cause = cause;
  }

  /** All attachments were checked. */
  checked({ failed }: Checks): void {
    this.#problems = new Map(failed.map(({ attachment, error }) => [recordKey(attachment), error.message]));
    for (const [uid, { attachments }] of this.#pods) {
      this.#publish(uid, [...attachments.values()].findLast(({ cause }) => cause !== undefined)?.cause);
    }
  }

  /** The attachments of the previous process are known. */
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
    const attachments = views.map((view) => attachmentOf(view, this.#problems.get(recordKey(view))));
    const text = JSON.stringify(attachments);
    if (text === (entry.published ?? '[]')) return;
    entry.published = text;
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
