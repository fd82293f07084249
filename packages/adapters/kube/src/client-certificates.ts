import { type Clock, type Logger, hasErrno, sleep, toError } from '@kubus/ports';
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { type CertificateState, nextForCertificate } from './certificate-plan.ts';

import { CertificateStore, validityOf, writePrivate } from './certificate-store.ts';
import { KubeClient } from './kube-client.ts';
import { CertificateError, newPrivateKey, requestCertificate } from './request-certificate.ts';

const SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
/** Milliseconds (the reference's limits). */
const BOOTSTRAP_LIMIT_MS = 3_600_000;
const ROTATION_LIMIT_MS = 15 * 60_000;
/** Milliseconds between attempts: the first, and the longest. */
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 300_000;

export interface ClientCertificatesOptions {
  readonly node: string;
  /** Settings of the node's configuration. */
  readonly apiServer: {
    readonly kubeconfig: string;
    readonly bootstrap?: { readonly kubeconfig: string } | undefined;
    readonly certDir: string;
    readonly rotate: boolean;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number between 0 and 1. */
  readonly random: () => number;
}

/**
 * Manages the node's credentials for the API server (behaviour:certificates-and-authentication): requests a client
 * certificate when it has
 * none, or only an expired one, writes the kubeconfig for it, and renews it in time. One process of a node runs it;
 * the others wait for the kubeconfig, and notice when its certificate has changed.
 */
export class ClientCertificates {
  readonly #options: ClientCertificatesOptions;
  readonly #store: CertificateStore;
  readonly #stopped = new AbortController();
  /** Drawn once for each certificate. */
  #drawn: { readonly certificate: string; readonly random: number } | undefined;
  #fault: string | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ClientCertificatesOptions) {
    this.#options = options;
    this.#store = new CertificateStore(options.apiServer.certDir);
  }

  /** The error why there is no certificate, or no new one; undefined when all is well. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Does nothing on a node whose credentials are managed elsewhere. */
  start(): void {
    const { bootstrap, rotate } = this.#options.apiServer;
    if (bootstrap !== undefined || rotate) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  get #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    let failures = 0;
    for (;;) {
      const { state, random } = await this.#look();
      const next = nextForCertificate(state, clock.now(), random);
      let waitMs = 0;
      try {
        if (next.do === 'wait') waitMs = next.ms;
        else if (next.do === 'bootstrap') await this.#bootstrap();
        else await this.#rotate();
        this.#fault = undefined;
        failures = 0;
      } catch (thrown) {
        const error = toError(thrown);
        waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++);
        this.#fault = `${next.do}: ${error.message}`;
        if (!this.#isStopped) logger.warn({ err: error, waitMs }, `${next.do} of the client certificate failed`);
      }
      await sleep(clock, waitMs, this.#stopped.signal);
      if (this.#isStopped) return;
    }
  }

  /** The current content of the files. */
  async #look(): Promise<{ state: CertificateState; random: number }> {
    const { apiServer, logger, random } = this.#options;
    const { kubeconfig, bootstrap, rotate } = apiServer;
    const wanted = { bootstrap: bootstrap !== undefined, rotate };
    try {
      const { loadKubeconfig } = await import('./kubeconfig.ts');
      const loaded = await loadKubeconfig(kubeconfig);
      const { tls } = await loaded.identity();
      const certificate = tls.cert?.toString();
      if (certificate === undefined) return { state: { ...wanted, used: undefined, own: false }, random: 0 };
      if (this.#drawn?.certificate !== certificate) this.#drawn = { certificate, random: random() };
      const own = loaded.files.some((file) => resolve(file) === resolve(this.#store.current));
      return { state: { ...wanted, used: validityOf(certificate), own }, random: this.#drawn.random };
    } catch (thrown) {
      if (!hasErrno(thrown, 'ENOENT')) logger.warn({ kubeconfig, err: toError(thrown) }, 'not usable');
      return { state: { ...wanted, used: undefined, own: false }, random: 0 };
    }
  }

  async #bootstrap(): Promise<void> {
    const { apiServer, clock, logger } = this.#options;
    const { kubeconfig, bootstrap } = apiServer;
    if (bootstrap === undefined) return;
    logger.info({ kubeconfig, bootstrap: bootstrap.kubeconfig }, 'requesting a client certificate');
    // The key outlives a restart, and with it the request that waits for approval.
    const key = (await this.#store.pendingKey()) ?? newPrivateKey();
    await this.#store.keepPendingKey(key);
    try {
      const certificate = await this.#order(bootstrap.kubeconfig, key, {
        resumable: true,
        limitMs: BOOTSTRAP_LIMIT_MS,
      });
      await this.#store.put(certificate, key, clock.now());
      await this.#writeKubeconfig(bootstrap.kubeconfig);
    } catch (thrown) {
      // A request that was refused stays refused: the next one uses another key.
      if (thrown instanceof CertificateError && !this.#isStopped) await this.#store.dropPendingKey();
      throw thrown;
    }
    await this.#store.dropPendingKey();
    logger.info({ kubeconfig }, 'received a client certificate');
  }

  async #rotate(): Promise<void> {
    const { apiServer, clock, logger } = this.#options;
    const key = newPrivateKey();
    const certificate = await this.#order(apiServer.kubeconfig, key, { resumable: false, limitMs: ROTATION_LIMIT_MS });
    await this.#store.put(certificate, key, clock.now());
    logger.info(
      { until: new Date(validityOf(certificate).notAfter).toISOString() },
      'the client certificate is renewed',
    );
  }

  async #order(kubeconfig: string, privateKey: string, how: { resumable: boolean; limitMs: number }): Promise<string> {
    const { node, clock, logger, random } = this.#options;
    const { signal } = this.#stopped;
    const client = await KubeClient.open({ kubeconfig, userAgent: 'kubus-credentials', clock, logger, signal });
    try {
      return await requestCertificate({
        ...{ client, privateKey, ...how, clock, logger, random, signal },
        ...{ signerName: SIGNER, usage: 'client' },
        subject: { commonName: `system:node:${node}`, organizations: ['system:nodes'] },
      });
    } finally {
      await client.close();
    }
  }

  /** The cluster of the bootstrap credentials, with the node's own certificate. */
  async #writeKubeconfig(bootstrap: string): Promise<void> {
    const { loadKubeconfig } = await import('./kubeconfig.ts');
    const { cluster } = await loadKubeconfig(bootstrap);
    const { current } = this.#store;
    const document = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'default-cluster', cluster }],
      users: [{ name: 'default-auth', user: { 'client-certificate': current, 'client-key': current } }],
      contexts: [
        {
          name: 'default-context',
          context: { cluster: 'default-cluster', user: 'default-auth', namespace: 'default' },
        },
      ],
      'current-context': 'default-context',
    };
    await writePrivate(this.#options.apiServer.kubeconfig, stringify(document));
  }
}
