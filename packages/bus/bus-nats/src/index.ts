export { type NatsTls, connectNats } from './connect.ts';
export { inboxPrefix, nodeSubject, storeSubject } from './names.ts';
export { type HubLink, ensureHubStream, hubEvents } from './hub-link.ts';
export { identityFile, readSeed } from './identity-files.ts';
export { publicKeyOf } from './nkey.ts';
export { loadStored } from './loader.ts';
export { NatsTransport, fromNats } from './nats-transport.ts';
export { readRecord } from './record.ts';
export { RecordFollower, type RecordState } from './record-follower.ts';
export { RemovalMarks } from './removal-marks.ts';
export { trimRecord } from './record-trim.ts';
export {
  type RecordLimits,
  type RecordStorage,
  defaultRecordLimits,
  journaledRecordLimits,
  ensureStreams,
  reachesStreams,
  removeStreams,
} from './streams.ts';
export { type KeyedIdentity, MAX_NODES, type ServerNode, createIdentity, serverConfig } from './identities.ts';
export {
  type Identity,
  PEOPLE,
  READER,
  STREAMS,
  type Permissions,
  discoverySubjects,
  permissionsOf,
  streamsInstance,
} from './permissions.ts';
