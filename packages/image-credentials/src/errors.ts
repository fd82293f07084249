import { KubusError } from '@kubus/ports';

/** A document with credentials, or about where to get them, is not what it should be. Says never what is in it. */
export class CredentialsError extends KubusError {}
