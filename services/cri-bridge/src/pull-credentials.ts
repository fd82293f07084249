import { createHash } from 'node:crypto';
import { type ImageRequest, type ObjectVersion, repositoryOf } from '@kubus/contracts';
import {
  type Credential,
  type DockerConfig,
  type KeyringPart,
  lookUp,
  parseDockerCfg,
  parseDockerConfigJson,
} from '@kubus/image-credentials';
import type { PullSecret } from '@kubus/image-manager';
import type { ObjectReader } from '@kubus/object-socket';

/** A pod with a service account, whose tokens open registries. */
export interface AccountOfPod {
  readonly namespace: string;
  /** The account's. */
  readonly name: string;
  readonly pod: { readonly name: string; readonly uid: string };
}

/** The credentials that the node has by itself: for every pod, or, with a source, for those of a service account. */
export interface NodeCredentials {
  /**
   * Documents whose credentials may be for this repository (registry and path).
   *
   * @param account left out: the pod has none.
   * @throws ObjectError `ObjectsUnavailable` when object-cache or the API server can not be asked for the account.
   */
  for(repository: string, account?: AccountOfPod): Promise<readonly KeyringPart[]>;
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
  async all(request: ImageRequest): Promise<Credential[]> {
    const repository = repositoryOf(request.image) ?? request.image;
    const [own, others] = await Promise.all([
      this.#ofSecrets(repository, request.pullSecrets),
      this.#node.for(repository, accountOf(request)),
    ]);
    return [...own, ...others.flatMap((part) => lookUp([part], repository))];
  }

  /** Those that not every pod has: from its own Secrets, and by its service account. */
  async ofPod(request: ImageRequest): Promise<Credential[]> {
    const repository = repositoryOf(request.image) ?? request.image;
    const account = accountOf(request);
    const [own, others] = await Promise.all([
      this.#ofSecrets(repository, request.pullSecrets),
      account === undefined ? [] : this.#node.for(repository, account),
    ]);
    const byAccount = others.filter(({ source }) => source !== undefined);
    return [...own, ...byAccount.flatMap((part) => lookUp([part], repository))];
  }

  async #ofSecrets(repository: string, secrets: readonly ObjectVersion[]): Promise<Credential[]> {
    const parts = await Promise.all(secrets.map((secret) => this.#part(secret)));
    return lookUp(
      parts.filter((part) => part !== undefined),
      repository,
    );
  }

  async #part(secret: ObjectVersion): Promise<KeyringPart | undefined> {
    const { uid, type, values } = await this.#objects.read(secret);
    const { namespace, name } = secret;
    const form = forms[type ?? ''];
    const text = values.get(form?.key ?? '')?.toString('utf8') ?? '';
    if (form === undefined || text === '') return undefined;
    return {
      config: form.parse(text, `Secret ${namespace}/${name}`),
      source: { kind: 'Secret', uid, namespace, name },
    };
  }
}

function accountOf({ pod, serviceAccount }: ImageRequest): AccountOfPod | undefined {
  const { namespace, name, uid } = pod;
  return serviceAccount === undefined ? undefined : { namespace, name: serviceAccount, pod: { name, uid } };
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
  if (credential === undefined || source === undefined) return undefined;
  const { kind, ...object } = source;
  return kind === 'Secret' ? { ...object, hash: credentialHash(credential) } : object;
}
