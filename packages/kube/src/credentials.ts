import { type Cancel, type Clock, type Logger, hasErrno, sleep, toError } from '@kubus/ports';
import { stat } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { KubeError } from './kube-error.ts';
import type { Identity, LoadedKubeconfig } from './kubeconfig.ts';

/** Requests that are under way at once; others wait for a connection. Watches are not counted. */
const MAX_CONNECTIONS = 16;
/** Milliseconds without use after which a connection is closed: before servers and what lies between give it up. */
const IDLE_MS = 60_000;
/** Milliseconds after which TCP asks whether the other end is there. */
const TCP_KEEP_ALIVE_MS = 30_000;
/** Milliseconds between looks at the files, also without requests (the reference looks at its certificate as often). */
const CHECK_MS = 10_000;
/** A look at the files that is younger than this many milliseconds is good enough for a request. */
const FRESH_MS = 1_000;
/** Milliseconds until a kubeconfig that is not there yet is looked for again. */
const WAIT_MS = 1_000;

/** Where the API server is, and as whom to speak to it. */
export interface Access {
  readonly server: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Connections of requests. */
  readonly requests: HttpAgent;
  /** Connections that watches hold for minutes. */
  readonly streams: HttpAgent;
}

export interface CredentialsOptions {
  readonly kubeconfig: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The credentials of a kubeconfig, as its files are now. A file that changes is read again; connections that were made as
 * somebody else are closed then, so that nothing goes on under a certificate that was replaced (kubelet behaviour 1.25).
 * Files that cannot be read leave the credentials as they were.
 */
export class Credentials {
  readonly #options: CredentialsOptions;
  #loaded: LoadedKubeconfig;
  #stamps: string;
  #access: Access;
  /** By which it is known whether connections may stay. */
  #connectedAs: string;
  #checkedAt: number;
  #checking: Promise<void> | undefined;
  #fault: string | undefined;
  #timer: Cancel = () => undefined;

  /** Waits until there is a kubeconfig that can be read: a bootstrap may still have to make it. Rejects only when `signal` aborts. */
  static async open(options: CredentialsOptions & { readonly signal?: AbortSignal | undefined }): Promise<Credentials> {
    const { kubeconfig, clock, logger, signal } = options;
    let told: string | undefined;
    for (;;) {
      try {
        return new Credentials(options, await read(kubeconfig));
      } catch (thrown) {
        const { message } = toError(thrown);
        if (signal?.aborted === true)
          throw new KubeError('Unreachable', `${kubeconfig}: ${message}`, { cause: thrown });
        if (message !== told) {
          if (hasErrno(thrown, 'ENOENT')) logger.info({ kubeconfig, missing: message }, 'waits for the kubeconfig');
          else logger.warn({ kubeconfig, err: toError(thrown) }, 'the kubeconfig cannot be read yet');
        }
        told = message;
      }
      await sleep(clock, WAIT_MS, signal);
    }
  }

  private constructor(options: CredentialsOptions, { loaded, stamps, identity }: Read) {
    this.#options = options;
    this.#loaded = loaded;
    this.#stamps = stamps;
    this.#access = connect(loaded, identity);
    this.#connectedAs = connectionKey(loaded, identity);
    this.#checkedAt = options.clock.now();
    this.#look();
  }

  /** What a request is to be sent with. Rejects when a plugin that gives the credentials fails. */
  async current(): Promise<Access> {
    if (this.#options.clock.now() - this.#checkedAt >= FRESH_MS) await this.#check();
    if (this.#loaded.dynamic) this.#use(this.#loaded, await this.#loaded.identity());
    return this.#access;
  }

  /** The API server does not take the credentials: everything is read again, whatever the files' times say. */
  async renew(): Promise<void> {
    await this.#checking;
    this.#stamps = '';
    await this.#check();
  }

  close(): void {
    this.#timer();
    close(this.#access);
  }

  #look(): void {
    this.#timer = this.#options.clock.after(CHECK_MS, () => {
      this.#look();
      void this.#check();
    });
  }

  /** Never rejects; several at once are one. */
  #check(): Promise<void> {
    this.#checking ??= this.#readAgain().finally(() => {
      this.#checkedAt = this.#options.clock.now();
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #readAgain(): Promise<void> {
    const { kubeconfig, logger } = this.#options;
    try {
      if ((await stampsOf(this.#loaded.files)) === this.#stamps) return;
      const { loaded, stamps, identity } = await read(kubeconfig);
      this.#loaded = loaded;
      this.#stamps = stamps;
      this.#fault = undefined;
      this.#use(loaded, identity);
    } catch (thrown) {
      const { message } = toError(thrown);
      if (message !== this.#fault) logger.warn({ kubeconfig, err: toError(thrown) }, 'credentials stay as they were');
      this.#fault = message;
    }
  }

  #use(loaded: LoadedKubeconfig, identity: Identity): void {
    const key = connectionKey(loaded, identity);
    if (key === this.#connectedAs) {
      this.#access = { ...this.#access, headers: identity.headers };
      return;
    }
    const before = this.#access;
    this.#access = connect(loaded, identity);
    this.#connectedAs = key;
    close(before);
    this.#options.logger.info({ kubeconfig: this.#options.kubeconfig }, 'new credentials; connections are made anew');
  }
}

interface Read {
  readonly loaded: LoadedKubeconfig;
  readonly stamps: string;
  readonly identity: Identity;
}

async function read(path: string): Promise<Read> {
  // Only who speaks to an API server pays for the library.
  const { loadKubeconfig } = await import('./kubeconfig.ts');
  const { files } = await loadKubeconfig(path);
  // Once more after the stamps were taken: a change in between shows in the next ones.
  const stamps = await stampsOf(files);
  const loaded = await loadKubeconfig(path);
  return { loaded, stamps, identity: await loaded.identity() };
}

/** By which files are known again. Links are followed: a rotated certificate is a link that points elsewhere. */
async function stampsOf(files: readonly string[]): Promise<string> {
  const stamps = await Promise.all(
    files.map(async (file) => {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
      return [file, dev, ino, size, mtimeNs, ctimeNs].join(' ');
    }),
  );
  return stamps.join('\n');
}

function connectionKey({ server, proxyUrl }: LoadedKubeconfig, { tls }: Identity): string {
  const { ca, cert, key, servername, rejectUnauthorized } = tls;
  const material = [ca, cert, key].map((value) => value?.toString());
  return JSON.stringify([server, proxyUrl, servername, rejectUnauthorized, ...material]);
}

function connect({ server }: LoadedKubeconfig, { headers, tls, proxy }: Identity): Access {
  const url = new URL(server);
  if (proxy !== undefined) return { server: url, headers, requests: proxy, streams: proxy };
  const set = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  const options = { ...set, keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS };
  const agent = url.protocol === 'https:' ? HttpsAgent : HttpAgent;
  return {
    server: url,
    headers,
    requests: new agent({ ...options, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS }),
    streams: new agent(options),
  };
}

function close({ requests, streams }: Access): void {
  requests.destroy();
  streams.destroy();
}
