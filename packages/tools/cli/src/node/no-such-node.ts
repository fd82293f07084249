import { UserError } from '../user-error.ts';
import { kubusCommand } from './kubus-command.ts';

/** The command that starts a node. @param more further options of `up` */
export function upCommand(node: string, more = ''): string {
  return `${kubusCommand(node)} up${more === '' ? '' : ` ${more}`}`;
}

/** The error of a command for a node that this machine does not have. @param more options with which it could do it */
export function noSuchNode(node: string, more = ''): UserError {
  return new UserError(
    `node ${node} does not exist on this machine: start it with ${upCommand(node, more)} ("./kubus ls" lists the nodes)`,
  );
}
