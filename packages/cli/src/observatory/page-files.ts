import { join } from 'node:path';
import { checkout } from '../nats-option.ts';

/** The page as it was built, and the contract as it was published; each may be missing. */
export const observatoryPage = join(checkout, 'packages/observatory-page/dist');
export const publishedContract = join(checkout, 'packages/contract-document/dist/asyncapi.json');
