export { type NatsTls, connectNats } from './connect.ts';
export {
  bucketName,
  bucketStream,
  inboxPrefix,
  nodeSubject,
  recordStream,
  storePattern,
  storeSubject,
} from './names.ts';
export { type HubLink, ensureHubStream, hubEvents } from './hub-link.ts';
export { identityFile, readSeed } from './identity-files.ts';
export { type LoadOptions, loadStored } from './loader.ts';
export { MessageTooLarge, NatsTransport, type NatsTransportOptions, fromNats } from './nats-transport.ts';
export { readRecord, storedMessage } from './record.ts';
export { type FollowOptions, RecordFollower, type RecordState } from './record-follower.ts';
export { purgeRemovalMarks } from './removal-marks.ts';
export { type RecordLimits, defaultRecordLimits, ensureStreams, removeStreams } from './streams.ts';
export {
  type KeyedIdentity,
  MAX_NODES,
  MAX_PAYLOAD,
  type ServerNode,
  type ServerOptions,
  createIdentity,
  publicKeyOf,
  serverConfig,
} from './identities.ts';
export { type Identity, PEOPLE, READER, type Permissions, discoverySubjects, permissionsOf } from './permissions.ts';
