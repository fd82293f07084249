import { KubusError } from '@kubus/ports';

/** Thrown when a document with credentials, or about where to get them, is invalid. The message never quotes the document. */
export class CredentialsError extends KubusError {}
