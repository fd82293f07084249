import { join } from 'node:path';
import { checkout } from '../nats-option.ts';

/** The built page and the published contract; either may be missing. */
export const observatoryPage = join(checkout, 'packages/observe/observatory-page/dist');
export const publishedContract = join(checkout, 'packages/tools/contract-document/dist/asyncapi.json');
