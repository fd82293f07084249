import type { ClusterNode } from '@kubus/contracts';
import {
  CertificateStore,
  type KubeWatcher,
  newPrivateKey,
  requestCertificate,
  rotationTime,
  validityOf,
} from '@kubus/kube';
import { type Clock, type Logger, hasErrno, sleep, toError } from '@kubus/ports';
import type { Metrics } from '@kubus/service-kit';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServingPair } from './serving-pair.ts';
import { ServingMetrics } from './serving-metrics.ts';
import { type ServingNames, covers, servingNames } from './serving-names.ts';

const SIGNER = 'kubernetes.io/kubelet-serving';
/** Milliseconds: how long a request may take, and how often names and time are checked. */
const LIMIT_MS = 15 * 60_000;
const LOOK_MS = 60_000;
/** Milliseconds between attempts: the first, and the longest. */
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 300_000;

export interface ServingCertificatesOptions {
  readonly node: string;
  readonly certDir: string;
  readonly client: KubeWatcher;
  /** The addresses of the Node object; undefined while they are not known. */
  readonly addresses: () => ClusterNode['addresses'] | undefined;
  /** Receives each certificate that the server has to use from now on. */
  readonly show: (pair: ServingPair) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The metrics of the certificates. */
  readonly metrics: Metrics;
  /** A random number between 0 and 1. */
  readonly random: () => number;
}

/**
 * Has the cluster sign the node's serving certificate (serverTLSBootstrap, behaviour:certificates-and-authentication):
 * when none exists, when the node has got another address, and at 70 to 90 % of its lifetime.
 */
export class ServingCertificates {
  readonly #options: ServingCertificatesOptions;
  readonly #store: CertificateStore;
  readonly #metrics: ServingMetrics;
  readonly #ended = new AbortController();
  readonly #running: Promise<void>;
  #wake = new AbortController();
  /** Drawn at random once for each certificate. */
  #drawn: { readonly fingerprint: string; readonly random: number } | undefined;

  constructor(options: ServingCertificatesOptions) {
    this.#options = options;
    this.#store = new CertificateStore(options.certDir, 'server');
    this.#metrics = new ServingMetrics(options.clock, options.metrics);
    this.#running = this.#run();
  }

  /** To be called when the addresses may have changed. */
  look(): void {
    this.#wake.abort();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    this.#wake.abort();
    await this.#running;
  }

  get #isStopped(): boolean {
    return this.#ended.signal.aborted;
  }

  async #run(): Promise<void> {
    const { addresses, clock, logger } = this.#options;
    let failures = 0;
    for (;;) {
      this.#wake = new AbortController();
      let waitMs = LOOK_MS;
      try {
        const names = servingNames(addresses() ?? []);
        const held = await this.#held();
        if (names !== undefined && this.#dueIn(held, names) <= 0) await this.#order(names);
        else waitMs = Math.min(LOOK_MS, names === undefined ? LOOK_MS : this.#dueIn(held, names));
        failures = 0;
      } catch (error) {
        waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++);
        if (!this.#isStopped) {
          this.#metrics.failed();
          logger.warn({ err: toError(error), waitMs }, 'requesting a serving certificate failed');
        }
      }
      if (!this.#isStopped) await sleep(clock, waitMs, this.#wake.signal);
      if (this.#isStopped) return;
    }
  }

  /** The current certificate, if it is still valid; it is put into use. */
  async #held(): Promise<X509Certificate | undefined> {
    const { clock, random, show } = this.#options;
    const text = await readFile(this.#store.current, 'utf8').catch((error: unknown) => {
      if (!hasErrno(error, 'ENOENT')) throw error;
    });
    if (text === undefined) return undefined;
    const certificate = new X509Certificate(text);
    if (certificate.validToDate.getTime() <= clock.now()) return undefined;
    const fingerprint = certificate.fingerprint256;
    if (this.#drawn?.fingerprint !== fingerprint) {
      show({ certificate: text, key: text });
      this.#metrics.shown(validityOf(text));
      this.#drawn = { fingerprint, random: random() };
    }
    return certificate;
  }

  /** Milliseconds until another certificate is needed. */
  #dueIn(held: X509Certificate | undefined, names: ServingNames): number {
    if (held === undefined || !covers(held, names)) return 0;
    return rotationTime(validityOf(held.toString()), this.#drawn?.random ?? 0) - this.#options.clock.now();
  }

  async #order({ dnsNames, addresses }: ServingNames): Promise<void> {
    const { node, client, clock, logger, random } = this.#options;
    const key = (await this.#store.pendingKey()) ?? newPrivateKey();
    await this.#store.keepPendingKey(key);
    const certificate = await requestCertificate({
      ...{ client, signerName: SIGNER, usage: 'server', privateKey: key, resumable: true, limitMs: LIMIT_MS },
      subject: { commonName: `system:node:${node}`, organizations: ['system:nodes'], dnsNames, addresses },
      ...{ clock, logger, random, signal: this.#ended.signal },
    }).catch(async (error: unknown) => {
      // A request that was refused stays refused: the next one uses another key.
      if (!this.#isStopped) await this.#store.dropPendingKey();
      throw error;
    });
    await this.#store.put(certificate, key, clock.now());
    await this.#store.dropPendingKey();
    await this.#held();
    logger.info({ dnsNames, addresses }, 'serving certificate signed by the cluster');
  }
}
