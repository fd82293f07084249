import { startAgent } from '../agent.ts';
import type { Driver } from '../runtime-setup.ts';
import type { Stage } from './group.ts';

const PATIENT = '/etc/systemd/system/kubelet.service.d/patient.conf';

/**
 * Starts Kubus as a unit, and checks that systemd waits as long as that takes on a slow machine. Where it does not, it is started with more
 * time, so that the checks that follow have something to say.
 */
export async function startUnit(
  { guest, checks }: Stage,
  driver: Driver,
  extra: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const started = await checks.check('the unit becomes ready in the time that its unit file gives it', async () => {
    await startAgent(guest, 'kubus', driver, extra);
    return true;
  });
  if (started === true) return;
  await guest.run('systemctl stop kubelet; systemctl reset-failed kubelet || true');
  await guest.write(PATIENT, '[Service]\nTimeoutStartSec=900\n');
  await startAgent(guest, 'kubus', driver, extra);
}
