import { type KubeRequester, isOutage, kubePath } from '@kubus/kube';
import type { Named, ServiceAccount } from '@kubus/object-socket';
import { KubusError } from '@kubus/ports';
import * as z from 'zod';

const accountSchema = z.object({
  metadata: z.object({ uid: z.string(), annotations: z.record(z.string(), z.string()).optional() }),
});

/**
 * Service accounts in their current version, or the last known one while the API server cannot be reached: credential
 * providers and their tokens survive an outage.
 */
export class ServiceAccounts {
  readonly #client: KubeRequester;
  readonly #last = new Map<string, ServiceAccount>();

  constructor(client: KubeRequester) {
    this.#client = client;
  }

  /** @throws KubeError when there is none, or access is denied */
  async get({ namespace, name }: Named): Promise<ServiceAccount> {
    const key = `${namespace}/${name}`;
    try {
      const path = kubePath({ version: 'v1', namespace, resource: 'serviceaccounts', name });
      const account = readAccount(await this.#client.request({ method: 'GET', path }));
      this.#last.set(key, account);
      return account;
    } catch (error) {
      const last = this.#last.get(key);
      if (last === undefined || !isOutage(error)) {
        this.#last.delete(key);
        throw error;
      }
      return last;
    }
  }

  /** Forgets those for which `isNeeded` is false. */
  keepOnly(isNeeded: (account: Named) => boolean): void {
    for (const key of this.#last.keys()) {
      const [namespace = '', name = ''] = key.split('/');
      if (!isNeeded({ namespace, name })) this.#last.delete(key);
    }
  }
}

function readAccount(object: unknown): ServiceAccount {
  const parsed = accountSchema.safeParse(object);
  if (!parsed.success) throw new KubusError('bad-answer', 'the API server’s answer is not a ServiceAccount');
  const { uid, annotations = {} } = parsed.data.metadata;
  return { uid, annotations };
}
