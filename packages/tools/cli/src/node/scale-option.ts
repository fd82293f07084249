import { type InstanceCounts, isShared } from '@kubus/launcher';
import { sharedServices } from '@kubus/contracts';
import { InvalidArgumentError, Option } from 'commander';
import { instanceCount } from '../commands/scale.ts';

/** One value of `--scale`. */
export const instancePattern = `(${sharedServices.join('|')})=[1-9][0-9]*`;

/** `--scale SERVICE=COUNT`, repeatable; its value is the number of instances of each service. Default: one of each. */
export function scaleOption(): Option {
  return new Option('--scale <service=count>', `number of instances of ${sharedServices.join(' or ')}; repeatable`)
    .argParser((text: string, counts: InstanceCounts): InstanceCounts => {
      const [service = '', count = ''] = text.split('=');
      if (!isShared(service))
        throw new InvalidArgumentError(`only ${sharedServices.join(' and ')} can have more than one instance`);
      return { ...counts, [service]: instanceCount(count) };
    })
    .default({}, 'one instance of each');
}
