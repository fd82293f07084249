import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeDir, nodeMark } from '@kubus/launcher';
import { type BuiltImage, readArchive } from '@kubus/node-images';
import * as z from 'zod';
import { HarnessError } from './errors.ts';
import { poll } from './poll.ts';
import type { TestNode } from './test-node.ts';
import type { Tunnel } from './tunnel.ts';

/** Where a registry runs: a node, a runtime with a tunnel, or the machine. */
export type RegistryPlace = Pick<TestNode, 'dir' | 'inside'> & { readonly tunnel: Pick<Tunnel, 'get' | 'expose'> };

/** The machine itself, for a registry that ends with the node whose folders these are. */
export function onMachine(dir: NodeDir): RegistryPlace {
  return {
    dir,
    inside: (command) => command,
    tunnel: {
      expose: (port) => Promise.resolve(port),
      get: async (url) => {
        const response = await fetch(`http://${url}`);
        return { status: response.status, body: await response.text() };
      },
    },
  };
}

/** The user that may pull from a registry with a login. */
export const registryLogin = { username: 'puller', password: 'open-sesame' };
/** `htpasswd -B`: the login above. */
const HTPASSWD = 'puller:$2b$04$yIU5ci8Z.o0wzq0Y8CCaTu1gmWciebix4/LjhCogaZCoMC20sUqtS\n';

const endText = (code: number) =>
  `docker-registry ended with code ${code}: the package docker-registry has to be installed, or provided by ./kubus test`;

const indexSchema = z.object({ manifests: z.tuple([z.object({ digest: z.string(), mediaType: z.string() })]) });
const manifestSchema = z.object({
  config: z.object({ digest: z.string() }),
  layers: z.array(z.object({ digest: z.string() })),
});

/**
 * A registry on the loopback of a node's network namespace: Debian's docker-registry as a process. containerd uses plain
 * HTTP for loopback addresses. Its content is in the node's folder, and it ends with the node.
 */
export class TestRegistry {
  /** The host part of image names: `127.0.0.1:5000`. */
  readonly host: string;
  readonly pid: number;
  readonly #outside: string;
  readonly #headers: Readonly<Record<string, string>>;

  /**
   * @param options.login whether {@link registryLogin} is required.
   * @param options.address on which it listens; default: the loopback's.
   * @throws HarnessError `NoRegistry` if it ends, as without the program.
   */
  static async start(
    place: RegistryPlace,
    options: { port: number; login: boolean; address?: string },
  ): Promise<TestRegistry> {
    const { port, login, address = '127.0.0.1' } = options;
    const { dir, tunnel } = place;
    const folder = join(dir.root, `registry-${port}`);
    const passwords = `${folder}.htpasswd`;
    await writeFile(passwords, HTPASSWD);
    const config = {
      version: 0.1,
      log: { level: 'error' },
      storage: { filesystem: { rootdirectory: folder } },
      http: { addr: `${address}:${port}` },
      ...(login && { auth: { htpasswd: { realm: 'test', path: passwords } } }),
    };
    // JSON is YAML.
    await writeFile(`${folder}.yaml`, JSON.stringify(config));
    const [command, ...args] = place.inside(['docker-registry', 'serve', `${folder}.yaml`]);
    // The mark makes it part of the node: removing the node ends it, too.
    const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, [nodeMark]: dir.root } });
    await once(child, 'spawn');
    child.unref();
    await poll(`a registry on port ${port}`, () => {
      if (child.exitCode !== null) throw new HarnessError('NoRegistry', endText(child.exitCode));
      return tunnel.get(`127.0.0.1:${port}/v2/`).catch(() => undefined);
    });
    const { username, password } = registryLogin;
    const basic = Buffer.from(`${username}:${password}`).toString('base64');
    return new TestRegistry({
      host: `127.0.0.1:${port}`,
      outside: `http://127.0.0.1:${await tunnel.expose(port)}`,
      headers: login ? { authorization: `Basic ${basic}` } : {},
      pid: child.pid ?? 0,
    });
  }

  private constructor(parts: { host: string; outside: string; headers: Record<string, string>; pid: number }) {
    this.host = parts.host;
    this.pid = parts.pid;
    this.#outside = parts.outside;
    this.#headers = parts.headers;
  }

  /** Stops answering until {@link resume}; connections stay open. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Pushes an image under a repository and tag; returns the reference for a pod's `image`. */
  async push(image: BuiltImage, repository: string, tag: string): Promise<string> {
    const files = await readArchive(image.archive);
    const blob = (digest: string) => {
      const content = files.get(`blobs/${digest.replace(':', '/')}`);
      if (content === undefined) throw new HarnessError('BadImage', `${image.archive} has no ${digest}`);
      return content;
    };
    const index = indexSchema.parse(JSON.parse(String(files.get('index.json'))));
    const [{ digest, mediaType }] = index.manifests;
    const manifest = blob(digest);
    const { config, layers } = manifestSchema.parse(JSON.parse(String(manifest)));
    for (const one of [config, ...layers]) await this.#putBlob(repository, one.digest, blob(one.digest));
    await this.#send('PUT', `/v2/${repository}/manifests/${tag}`, manifest, mediaType);
    return `${this.host}/${repository}:${tag}`;
  }

  async #putBlob(repository: string, digest: string, content: Buffer): Promise<void> {
    const begun = await this.#send('POST', `/v2/${repository}/blobs/uploads/`);
    const { pathname, searchParams } = new URL(begun.headers.get('location') ?? '', this.#outside);
    searchParams.set('digest', digest);
    await this.#send('PUT', `${pathname}?${searchParams.toString()}`, content, 'application/octet-stream');
  }

  async #send(method: string, path: string, body?: Buffer, type?: string): Promise<Response> {
    const response = await fetch(this.#outside + path, {
      method,
      headers: { ...this.#headers, ...(type !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: new Uint8Array(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new HarnessError('RegistryRefused', `${method} ${path}: ${response.status} ${text}`);
    return response;
  }
}
