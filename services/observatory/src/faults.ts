import type { FaultRule, ServiceFault } from '@kubus/contracts';
import type { FaultDocument, FaultsDocument } from '@kubus/contracts/observatory';

/** The faults of a node that was started with them. Each method may reject with a RequestError. */
export interface Faults {
  /** The rules and pauses that are in force. */
  list(): FaultsDocument;
  /** Resolves when the rule is in force. */
  inject(rule: FaultRule): Promise<FaultDocument>;
  /** Ends a rule, or all rules and pauses; resolves with the names of the rules. */
  clear(id?: string): Promise<readonly string[]>;
  /** Pauses, kills or restarts a service or an instance; resolves with the instances that were affected. */
  disturb(service: string, fault: ServiceFault): Promise<readonly string[]>;
}
