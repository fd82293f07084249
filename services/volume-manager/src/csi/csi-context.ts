import type { ObjectVersion } from '@kubus/contracts';
import { KubusError, toError } from '@kubus/ports';
import type { CsiStep } from '@kubus/volume';
import { type ValueReader, asAwaits, noValues } from '../host/values.ts';

/**
 * Thrown when a Secret or token that a driver call needs was refused. The message is for the pod's user and contains
 * no value.
 */
class CsiValueError extends KubusError {}

type Texts = Record<string, string>;

/** Secrets, pod information and tokens of a driver call: read when the call is made, and not kept. */
export class CsiContext {
  readonly #values: ValueReader;

  /** @param values undefined where there is no API server */
  constructor(values: ValueReader = noValues) {
    this.#values = values;
  }

  /** The values of the Secret that a volume names for a call. Throws {@link CsiValueError} and VolumeAwaits. */
  async secrets(field: string, secret: ObjectVersion | undefined): Promise<Texts> {
    if (secret === undefined) return {};
    const { namespace, name } = secret;
    try {
      const { values } = await this.#values.read(secret);
      return Object.fromEntries([...values].map(([key, value]) => [key, value.toString('utf8')]));
    } catch (error) {
      const awaits = asAwaits(error);
      if (awaits !== undefined) throw awaits;
      const cause = `kubernetes.io/csi: failed to find the secret ${name} in the namespace ${namespace} with error`;
      const message = `fetching ${field} ${namespace}/${name} failed: ${cause}: ${toError(error).message}`;
      throw new CsiValueError('no-value', message, { cause: error });
    }
  }

  /**
   * The volume's attributes, with the pod information (podInfoOnMount) and service account tokens (tokenRequests;
   * KEP-2047) that the driver asks for. Throws {@link CsiValueError} and VolumeAwaits.
   */
  async ofPod(step: CsiStep): Promise<Texts> {
    const { pod, inline, tellPod, tokens, volumeAttributes, block } = step;
    const about: Texts = {
      'csi.storage.k8s.io/pod.name': pod.name,
      'csi.storage.k8s.io/pod.namespace': pod.namespace,
      'csi.storage.k8s.io/pod.uid': pod.uid,
      'csi.storage.k8s.io/serviceAccount.name': pod.serviceAccount,
      'csi.storage.k8s.io/ephemeral': String(inline),
    };
    // The reference passes no tokens when a device is published.
    const own: Texts = {};
    if (tokens.length > 0 && !block) own['csi.storage.k8s.io/serviceAccount.tokens'] = await this.#tokens(step);
    return { ...volumeAttributes, ...(tellPod && about), ...own };
  }

  async #tokens({ pod, tokens }: CsiStep): Promise<string> {
    const account = { namespace: pod.namespace, name: pod.serviceAccount };
    const bound = { name: pod.name, uid: pod.uid };
    try {
      const got = await Promise.all(
        tokens.map(async ({ audience, expirationSeconds }) => {
          const audiences = audience === '' ? [] : [audience];
          const question = { audiences, pod: bound, ...(expirationSeconds !== undefined && { expirationSeconds }) };
          const { token, expirationTimestamp } = await this.#values.token(account, question);
          return [audience, { token, expirationTimestamp }] as const;
        }),
      );
      return JSON.stringify(Object.fromEntries(got));
    } catch (error) {
      const awaits = asAwaits(error);
      if (awaits !== undefined) throw awaits;
      const what = 'kubernetes.io/csi: mounter.SetUpAt failed to get service accoount token attributes';
      throw new CsiValueError('no-token', `${what}: ${toError(error).message}`, { cause: error });
    }
  }
}
