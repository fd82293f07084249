import { type Logger, hasErrno, toError } from '@kubus/ports';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Per interface: the kernel's settings for IPv4. There is no such setting for IPv6, whose loopback never crosses an interface. */
const SETTINGS = '/proc/sys/net/ipv4/conf';

/**
 * Takes back `route_localnet` of the host's interfaces, which lets packets for 127.0.0.0/8 in. Never fails: an interface that
 * does not exist any more has no setting.
 */
export function endLocalnetRouting(interfaces: readonly string[], logger: Logger): void {
  for (const name of interfaces) {
    try {
      writeFileSync(join(SETTINGS, name, 'route_localnet'), '0');
    } catch (error) {
      if (!hasErrno(error, 'ENOENT'))
        logger.warn({ interface: name, err: toError(error) }, 'cannot reset route_localnet');
    }
  }
}
