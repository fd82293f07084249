import { type ServiceName, serviceNames } from './declare.ts';
import { type ServiceContract, serviceContracts } from './graph.ts';
import { clearFault, disturbService, faultRule, faulted, injectFault, serviceFaulted } from './messages/fault.ts';

const commands = [injectFault, clearFault, disturbService];

/** Through whom people give the rules. What these say and hear is not disturbed: nobody could end a fault then. */
const givers: readonly ServiceName[] = ['cli', 'observatory'];

/** What each service says and hears on a node that was started with faults: besides everything else, what faults need. */
export const faultContracts: Readonly<Record<ServiceName, ServiceContract>> = Object.fromEntries(
  serviceNames.map((name) => [name, withFaults(name, serviceContracts[name])]),
) as Record<ServiceName, ServiceContract>;

/** The contracts of a node. On one without faults nobody has a right to the subjects of faults. */
export function contractsOf(node: { readonly faults: boolean }): Readonly<Record<ServiceName, ServiceContract>> {
  return node.faults ? faultContracts : serviceContracts;
}

function withFaults(name: ServiceName, contract: ServiceContract): ServiceContract {
  const { owns, reads, serves, calls, publishes } = contract;
  if (name === 'launcher') {
    return {
      ...contract,
      owns: [...owns, faultRule],
      serves: [...serves, ...commands],
      publishes: [...publishes, serviceFaulted],
    };
  }
  if (givers.includes(name)) return { ...contract, reads: [...reads, faultRule], calls: [...calls, ...commands] };
  return { ...contract, reads: [...reads, faultRule], publishes: [...publishes, faulted] };
}
