import { PeerRestarted } from '@kubus/bus';

/** Calls again while the service that is asked has restarted before it answered. Only for what may be carried out more than once. */
export async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof PeerRestarted)) throw error;
    }
  }
}
