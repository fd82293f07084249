import type { AnyDeclaration } from './declare.ts';
import { desiredPods, configuredSources, manifest } from './messages/config.ts';
import { runtimeImages } from './messages/image.ts';
import { processEvent, serviceShare } from './messages/node.ts';
import { serviceInstance } from './messages/service.ts';

/** A message that may have no cause on the bus, for what led to it happened elsewhere. */
export interface PossibleRoot {
  readonly type: AnyDeclaration;
  /** What outside of the bus leads to it. */
  readonly because: string;
}

/**
 * Every type of message that may name no cause. Besides these only the marks of complete sets may: they tell of a set, not of
 * a message. Whatever else names none has lost it.
 */
export const possibleRoots: readonly PossibleRoot[] = [
  { type: serviceInstance, because: 'a process has started or a connection has been made' },
  { type: processEvent, because: 'the launcher has started a process, or one has ended' },
  { type: serviceShare, because: 'the launcher runs another set of instances' },
  { type: manifest, because: 'a file of the manifest folder was read' },
  { type: configuredSources, because: 'the configuration of the node' },
  { type: desiredPods.http, because: 'a manifest URL was read' },
  { type: desiredPods.api, because: 'a watch of the API server told of it' },
  { type: runtimeImages, because: 'the runtime’s list of images, read on a timer' },
];
