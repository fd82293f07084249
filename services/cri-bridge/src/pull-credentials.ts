import { createHash } from 'node:crypto';
import { type ObjectVersion, repositoryOf } from '@kubus/contracts';
import {
  type Credential,
  type DockerConfig,
  type KeyringPart,
  lookUp,
  parseDockerCfg,
  parseDockerConfigJson,
} from '@kubus/image-credentials';
import type { PullSecret } from '@kubus/image-manager';
import type { ObjectReader } from './objects.ts';

/** The node's own credentials, which every pod may use. */
export interface NodeCredentials {
  /** Documents whose credentials may be for this repository (registry and path). Never rejects. */
  for(repository: string): Promise<readonly DockerConfig[]>;
}

/** Finds the credentials for a pull: the pod's, then the node's (kubelet behaviour 1.8, credentials). */
export class PullCredentials {
  readonly #objects: ObjectReader;
  readonly #node: NodeCredentials;

  constructor(options: { objects: ObjectReader; node: NodeCredentials }) {
    this.#objects = options.objects;
    this.#node = options.node;
  }

  /**
   * All that may open the image, in the order in which they are to be tried.
   *
   * @throws CredentialsError when a Secret is no docker configuration.
   */
  async all(image: string, secrets: readonly ObjectVersion[]): Promise<Credential[]> {
    const repository = repositoryOf(image) ?? image;
    const [own, shared] = await Promise.all([this.ofPod(image, secrets), this.#node.for(repository)]);
    return [...own, ...shared.flatMap((config) => lookUp([{ config }], repository))];
  }

  /** Those from the pod's own Secrets. */
  async ofPod(image: string, secrets: readonly ObjectVersion[]): Promise<Credential[]> {
    const parts = await Promise.all(secrets.map((secret) => this.#part(secret)));
    return lookUp(
      parts.filter((part) => part !== undefined),
      repositoryOf(image) ?? image,
    );
  }

  async #part(secret: ObjectVersion): Promise<KeyringPart | undefined> {
    const { uid, type, values } = await this.#objects.read(secret);
    const { namespace, name } = secret;
    const form = forms[type ?? ''];
    const text = values.get(form?.key ?? '')?.toString('utf8') ?? '';
    if (form === undefined || text === '') return undefined;
    return { config: form.parse(text, `Secret ${namespace}/${name}`), source: { uid, namespace, name } };
  }
}

/** How the types of Secrets that hold docker configurations hold them. */
const forms: Readonly<Record<string, { key: string; parse: (text: string, where: string) => DockerConfig }>> = {
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', parse: parseDockerConfigJson },
  'kubernetes.io/dockercfg': { key: '.dockercfg', parse: parseDockerCfg },
};

/** Tells credentials apart without showing them. */
export function credentialHash({ username, password }: Pick<Credential, 'username' | 'password'>): string {
  return createHash('sha256')
    .update(JSON.stringify([username, password]))
    .digest('hex');
}

/** What is remembered of a credential; undefined for one that every pod of the node may use. */
export function pullSecretOf(credential: Credential | undefined): PullSecret | undefined {
  const source = credential?.source;
  return credential === undefined || source === undefined ? undefined : { ...source, hash: credentialHash(credential) };
}
