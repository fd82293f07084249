import { type ServiceName, serviceNames } from './declare.ts';
import { type ServiceContract, serviceContracts } from './graph.ts';
import { clearFault, disturbService, faultRule, faulted, injectFault, serviceFaulted } from './messages/fault.ts';

const commands = [injectFault, clearFault, disturbService];

/** The services through which rules are set. Their messages are not disturbed, or a fault could not be ended. */
const ruleSetters: readonly ServiceName[] = ['cli', 'observatory'];

/**
 * What each service publishes and reads on a node that was started with faults: the usual messages and those that faults
 * need.
 */
export const faultContracts: Readonly<Record<ServiceName, ServiceContract>> = Object.fromEntries(
  serviceNames.map((name) => [name, withFaults(name, serviceContracts[name])]),
) as Record<ServiceName, ServiceContract>;

/** The contracts of a node. On a node without faults no service has permissions for the subjects of faults. */
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
  if (ruleSetters.includes(name)) return { ...contract, reads: [...reads, faultRule], calls: [...calls, ...commands] };
  return { ...contract, reads: [...reads, faultRule], publishes: [...publishes, faulted] };
}
