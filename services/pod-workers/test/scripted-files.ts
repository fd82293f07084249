import type { Pod, PodRef } from '@kubus/contracts';
import type { ContainerRun, PodFiles } from '../src/index.ts';

/** The pods' files, with content that the test sets. */
export class ScriptedFiles implements PodFiles {
  /** What was removed. */
  readonly undone: string[] = [];
  /** `<container>/<attempt>` to the message that its run has left. */
  readonly messages = new Map<string, string>();
  /** Path to the end of the log there. */
  readonly logs = new Map<string, string>();
  readonly indexes = new Map<string, number>();
  /** The error with which the removal of a pod's files fails. */
  failure: Error | undefined;

  /** The error with which creating the pod's folder, or a container's, fails. */
  folderFailure: Error | undefined;
  logFolderFailure: Error | undefined;

  makeFolder(): Promise<void> {
    return this.folderFailure === undefined ? Promise.resolve() : Promise.reject(this.folderFailure);
  }

  logFolder({ uid }: PodRef): string {
    return `/logs/${uid}`;
  }

  makeLogFolder(): Promise<void> {
    return this.logFolderFailure === undefined ? Promise.resolve() : Promise.reject(this.logFolderFailure);
  }

  linkLog(): Promise<void> {
    return Promise.resolve();
  }

  writeHostsFile({ metadata }: Pod): Promise<string> {
    return Promise.resolve(`/hosts/${metadata.uid}`);
  }

  readResolvConf(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  logIndexes(): Promise<ReadonlyMap<string, number>> {
    return Promise.resolve(this.indexes);
  }

  readLogEnd(path: string): Promise<string | undefined> {
    return Promise.resolve(this.logs.get(path));
  }

  makeTerminationLog({ uid }: PodRef, container: string, attempt: number): Promise<string> {
    return Promise.resolve(`/messages/${uid}/${container}/${attempt}`);
  }

  readTerminationLog(_pod: PodRef, { name, attempt }: ContainerRun): Promise<string | undefined> {
    return Promise.resolve(this.messages.get(`${name}/${attempt}`));
  }

  removeRun(_pod: PodRef, { name, attempt }: ContainerRun): Promise<void> {
    this.undone.push(`run ${name}/${attempt}`);
    return Promise.resolve();
  }

  removeLogs({ uid }: PodRef): Promise<void> {
    this.undone.push(`logs ${uid}`);
    return Promise.resolve();
  }

  remove({ uid }: PodRef): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.undone.push(`files ${uid}`);
    return Promise.resolve();
  }
}
