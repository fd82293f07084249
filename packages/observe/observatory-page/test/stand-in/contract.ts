import { asyncApiDocument } from '@kubus/contract-document';

/** The real contract, the only document of the stand-in that need not be simulated. */
export function standInContract(): object {
  return asyncApiDocument('0.1.0', 'Rules that the schema cannot express.');
}
