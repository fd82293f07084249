import { asyncApiDocument } from '@kubus/contract-document';

/** The contract itself: of all that the stand-in answers, nobody has to make this up. */
export function standInContract(): object {
  return asyncApiDocument('0.1.0', 'What a schema can not say.');
}
