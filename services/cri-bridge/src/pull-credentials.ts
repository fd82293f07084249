import { createHash } from 'node:crypto';
import { type PullSecretRef, repositoryOf } from '@kubus/contracts';
import {
  type Credential,
  type DockerConfig,
  type KeyringPart,
  lookUp,
  parseDockerCfg,
  parseDockerConfigJson,
} from '@kubus/image-credentials';
import type { PullSecret } from '@kubus/image-manager';

/** Reads Secrets. */
export interface PullSecrets {
  /** The data of a Secret at that version; undefined when it is not there any more. */
  read(secret: PullSecretRef): Promise<ReadonlyMap<string, Uint8Array> | undefined>;
}

/** The node's own credentials, which every pod may use. */
export interface NodeCredentials {
  /** Documents whose credentials may be for this repository (registry and path). Never rejects. */
  for(repository: string): Promise<readonly DockerConfig[]>;
}

/** Finds the credentials for a pull: the pod's, then the node's (kubelet behaviour 1.8, credentials). */
export class PullCredentials {
  readonly #secrets: PullSecrets;
  readonly #node: NodeCredentials;

  constructor(options: { secrets: PullSecrets; node: NodeCredentials }) {
    this.#secrets = options.secrets;
    this.#node = options.node;
  }

  /**
   * All that may open the image, in the order in which they are to be tried.
   *
   * @throws CredentialsError when a Secret is no docker configuration.
   */
  async all(image: string, secrets: readonly PullSecretRef[]): Promise<Credential[]> {
    const repository = repositoryOf(image) ?? image;
    const [own, shared] = await Promise.all([this.ofPod(image, secrets), this.#node.for(repository)]);
    return [...own, ...shared.flatMap((config) => lookUp([{ config }], repository))];
  }

  /** Those from the pod's own Secrets. */
  async ofPod(image: string, secrets: readonly PullSecretRef[]): Promise<Credential[]> {
    const parts = await Promise.all(secrets.map((secret) => this.#part(secret)));
    return lookUp(
      parts.filter((part) => part !== undefined),
      repositoryOf(image) ?? image,
    );
  }

  async #part(secret: PullSecretRef): Promise<KeyringPart | undefined> {
    const data = await this.#secrets.read(secret);
    const where = `Secret ${secret.namespace}/${secret.name}`;
    const text = (key: string) => {
      const bytes = data?.get(key);
      return bytes === undefined || bytes.length === 0 ? undefined : new TextDecoder().decode(bytes);
    };
    const { uid, namespace, name } = secret;
    const source = { uid, namespace, name };
    const json = text('.dockerconfigjson');
    if (json !== undefined) return { config: parseDockerConfigJson(json, where), source };
    const older = text('.dockercfg');
    return older === undefined ? undefined : { config: parseDockerCfg(older, where), source };
  }
}

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
