import { type Cancel, type Clock, type Logger, hasErrno, sleep, toError } from '@kubus/ports';
import { stat } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { KubeError } from './kube-error.ts';
import type { Identity, LoadedKubeconfig } from './kubeconfig.ts';

/** Maximum number of concurrent requests; others wait for a connection. Watches are not counted. */
const MAX_CONNECTIONS = 16;
/** Milliseconds without use after which a connection is closed: before servers and middleboxes drop it. */
const IDLE_MS = 60_000;
/** Milliseconds of idle time after which TCP sends keepalives. */
const TCP_KEEP_ALIVE_MS = 30_000;
/** Milliseconds between checks of the files, also without requests (the reference checks its certificate as often). */
const CHECK_MS = 10_000;
/** A check of the files that is younger than this many milliseconds is recent enough for a request. */
const FRESH_MS = 1_000;
/** Milliseconds between checks for a kubeconfig that does not exist yet. */
const WAIT_MS = 1_000;

/** The address of the API server, and the identity to use. */
export interface Access {
  readonly server: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Connections of requests. */
  readonly requests: HttpAgent;
  /** Connections that watches use for minutes. */
  readonly streams: HttpAgent;
}

export interface CredentialsOptions {
  readonly kubeconfig: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The credentials of a kubeconfig, as its files are at each time. A changed file is read again; connections that were made with
 * another identity are then closed, so that none continues with a replaced certificate
 * (behaviour:certificates-and-authentication).
 * Files that cannot be read leave the credentials unchanged.
 */
export class Credentials {
  readonly #options: CredentialsOptions;
  #loaded: LoadedKubeconfig;
  #stamps: string;
  #access: Access;
  /** Decides whether connections may stay open. */
  #connectedAs: string;
  #checkedAt: number;
  #checking: Promise<void> | undefined;
  #fault: string | undefined;
  #timer: Cancel = () => undefined;

  /** Waits until a readable kubeconfig exists: a bootstrap may still have to create it. Rejects only when `signal` aborts. */
  static async open(options: CredentialsOptions & { readonly signal?: AbortSignal | undefined }): Promise<Credentials> {
    const { kubeconfig, clock, logger, signal } = options;
    let logged: string | undefined;
    for (;;) {
      try {
        return new Credentials(options, await read(kubeconfig));
      } catch (thrown) {
        const { message } = toError(thrown);
        if (signal?.aborted === true)
          throw new KubeError('Unreachable', `${kubeconfig}: ${message}`, { cause: thrown });
        if (message !== logged) {
          if (hasErrno(thrown, 'ENOENT')) logger.info({ kubeconfig, missing: message }, 'waiting for the kubeconfig');
          else logger.warn({ kubeconfig, err: toError(thrown) }, 'the kubeconfig cannot be read yet');
        }
        logged = message;
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

  /** The credentials for a request. Rejects when a plugin that provides them fails. */
  async current(): Promise<Access> {
    if (this.#options.clock.now() - this.#checkedAt >= FRESH_MS) await this.#check();
    if (this.#loaded.dynamic) this.#use(this.#loaded, await this.#loaded.identity());
    return this.#access;
  }

  /** The API server refuses the credentials: all files are read again, whatever their times are. */
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

  /** Never rejects; concurrent calls share one run. */
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
      if (message !== this.#fault)
        logger.warn({ kubeconfig, err: toError(thrown) }, 'keeping the previous credentials');
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
    this.#options.logger.info({ kubeconfig: this.#options.kubeconfig }, 'new credentials; connecting again');
  }
}

interface Read {
  readonly loaded: LoadedKubeconfig;
  readonly stamps: string;
  readonly identity: Identity;
}

async function read(path: string): Promise<Read> {
  // The library is loaded only in processes that use an API server.
  const { loadKubeconfig } = await import('./kubeconfig.ts');
  const { files } = await loadKubeconfig(path);
  // Read again after the stamps were taken: a change in between shows in the next ones.
  const stamps = await stampsOf(files);
  const loaded = await loadKubeconfig(path);
  return { loaded, stamps, identity: await loaded.identity() };
}

/** Detects changes of files. Links are followed: rotating a certificate changes the target of a link. */
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
