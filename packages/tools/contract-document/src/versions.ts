// Compares this version with the previous one. It imports the services, for the records that they keep on disk.
export { type ComparedContract, describeIncompatibility, incompatibilities } from './compatibility.ts';
export { keptContract } from './kept.ts';
export { previousCommit, readPrevious } from './previous.ts';
export { recordsContract } from './records.ts';
export { refusals } from './refusals.ts';
export { tolerated } from './tolerated.ts';
