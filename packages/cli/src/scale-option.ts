import { type InstanceCounts, isShared } from '@kubus/launcher';
import { sharedServices } from '@kubus/contracts';
import { InvalidArgumentError, Option } from 'commander';
import { instanceCount } from './commands/scale.ts';

/** `--scale SERVICE=COUNT`, any number of times; its value is how many instances there are of each. */
export function scaleOption(): Option {
  return new Option('--scale <service=count>', `how many instances of a service: ${sharedServices.join(' or ')}`)
    .argParser((text: string, counts: InstanceCounts): InstanceCounts => {
      const [service = '', count = ''] = text.split('=');
      if (!isShared(service)) throw new InvalidArgumentError(`${sharedServices.join(' and ')} can be scaled`);
      return { ...counts, [service]: instanceCount(count) };
    })
    .default({}, 'one of each');
}
