import type { FaultRule, ServiceFault } from '@kubus/contracts';
import type { FaultDocument, FaultsDocument } from '@kubus/observatory-api';

/** What is done on purpose to a node that was started with faults. All that is asked of it may reject with a RequestError. */
export interface Faults {
  /** What is done now. */
  list(): FaultsDocument;
  /** Resolves when the rule holds. */
  inject(rule: FaultRule): Promise<FaultDocument>;
  /** Ends a rule, or all rules and pauses; resolves with the names of the rules. */
  clear(id?: string): Promise<readonly string[]>;
  /** Pauses, kills or restarts a service or an instance; resolves with the instances to which it was done. */
  disturb(service: string, fault: ServiceFault): Promise<readonly string[]>;
}
