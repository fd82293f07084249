// What compares this version with the one before. It knows the services, for what they keep on disk.
export {
  type ComparedContract,
  type Incompatibility,
  describeIncompatibility,
  incompatibilities,
} from './compatibility.ts';
export { keptContract } from './kept.ts';
export { previousCommit, readPrevious } from './previous.ts';
export { recordsContract } from './records.ts';
export { type Refusal, refusals } from './refusals.ts';
export { type Tolerated, tolerated } from './tolerated.ts';
