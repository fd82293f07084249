export { type AsyncApiDocument, asyncApiDocument } from './asyncapi.ts';
export {
  type ComparedContract,
  type Incompatibility,
  describeIncompatibility,
  incompatibilities,
} from './compatibility.ts';
export { type JsonSchema, jsonSchemas } from './json-schemas.ts';
export { keptContract } from './kept.ts';
export { previousCommit, readPrevious } from './previous.ts';
export { recordsContract } from './records.ts';
export { type Refusal, refusals } from './refusals.ts';
export { type Tolerated, tolerated } from './tolerated.ts';
