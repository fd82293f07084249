import { createHash } from 'node:crypto';
import { type ImageRequest, type ObjectVersion, repositoryOf } from '@kubus/contracts';
import {
  type Credential,
  type DockerConfig,
  type KeyringPart,
  type PullSecret,
  lookUp,
  parseDockerCfg,
  parseDockerConfigJson,
} from '@kubus/images';
import type { ObjectReader } from '@kubus/object-socket';

/** The service account of a pod, whose tokens grant access to registries. */
export interface AccountOfPod {
  readonly namespace: string;
  /** Name of the account. */
  readonly name: string;
  readonly pod: { readonly name: string; readonly uid: string };
}

/** Credentials of the node itself: for every pod, or, with a source, for the pods of a service account. */
export interface NodeCredentials {
  /**
   * Documents whose credentials may be for this repository (registry and path).
   *
   * @param account default: the pod has none
   * @throws ObjectError `ObjectsUnavailable` when object-cache or the API server cannot be asked for the account.
   */
  for(repository: string, account?: AccountOfPod): Promise<readonly KeyringPart[]>;
}

/** Finds the credentials for a pull: the pod's, then the node's (behaviour:images, credentials). */
export class PullCredentials {
  readonly #objects: ObjectReader;
  readonly #node: NodeCredentials;

  constructor(options: { objects: ObjectReader; node: NodeCredentials }) {
    this.#objects = options.objects;
    this.#node = options.node;
  }

  /**
   * All credentials that may grant access to the image, in the order in which they are to be tried.
   *
   * @throws CredentialsError when a Secret is not a docker configuration.
   */
  async all(request: ImageRequest): Promise<Credential[]> {
    const repository = repositoryOf(request.image) ?? request.image;
    const [own, others] = await Promise.all([
      this.#ofSecrets(repository, request.pullSecrets),
      this.#node.for(repository, accountOf(request)),
    ]);
    return [...own, ...others.flatMap((part) => lookUp([part], repository))];
  }

  /** Credentials that not every pod has: from its own Secrets, and by its service account. */
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

/** The key and format of each type of Secret that holds a docker configuration. */
const forms: Readonly<Record<string, { key: string; parse: (text: string, where: string) => DockerConfig }>> = {
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', parse: parseDockerConfigJson },
  'kubernetes.io/dockercfg': { key: '.dockercfg', parse: parseDockerCfg },
};

/** Identifies a credential without revealing it. */
export function credentialHash({ username, password }: Pick<Credential, 'username' | 'password'>): string {
  return createHash('sha256')
    .update(JSON.stringify([username, password]))
    .digest('hex');
}

/** What is recorded about a credential; undefined for one that every pod of the node may use. */
export function pullSecretOf(credential: Credential | undefined): PullSecret | undefined {
  const source = credential?.source;
  if (credential === undefined || source === undefined) return undefined;
  const { kind, ...object } = source;
  return kind === 'Secret' ? { ...object, hash: credentialHash(credential) } : object;
}
