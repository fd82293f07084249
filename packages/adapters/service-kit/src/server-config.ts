import * as z from 'zod';

/** The node's HTTP servers. */
export const serverSchema = z.strictObject({
  /** Unix socket of the same API for users of the machine: a user who may open it has full access. Omitted: there is none. */
  socket: z.string().optional(),
  /** Address and port of the HTTPS API (address, port). No port: it is not served; used where no authorizer is configured. */
  address: z.string().default('0.0.0.0'),
  port: z.int().min(1).max(65_535).optional(),
  /** Port of the API without authentication; 0: none (readOnlyPort). */
  readOnlyPort: z.int().min(0).max(65_535).default(0),
  /** Where /healthz is served without TLS; port 0: not served (healthzBindAddress, healthzPort). */
  healthz: z
    .strictObject({ address: z.string().default('127.0.0.1'), port: z.int().min(0).max(65_535).default(10_248) })
    .prefault({}),
  /** Omitted: a self-signed pair in `certDir` (tlsCertFile, tlsPrivateKeyFile). */
  tls: z.strictObject({ certFile: z.string(), keyFile: z.string() }).optional(),
  /** Folder of the self-signed certificate (--cert-dir). */
  certDir: z.string(),
  /** The API server's signer issues the serving certificate (serverTLSBootstrap). */
  bootstrapTls: z.boolean().default(false),
  /** Such as `VersionTLS12` (tlsMinVersion); default: TLS 1.2. */
  minVersion: z.string().optional(),
  /** IANA names (tlsCipherSuites); empty: those of Node.js. */
  cipherSuites: z.array(z.string()).default([]),
  authentication: z
    .strictObject({
      /** Client certificates of these CAs name their user (authentication.x509.clientCAFile). */
      clientCaFile: z.string().optional(),
      /** Have the API server review tokens (authentication.webhook). */
      webhook: z.boolean().default(true),
      webhookCacheMs: z.number().nonnegative().default(120_000),
      /** Other requests are made by `system:anonymous` (authentication.anonymous). */
      anonymous: z.boolean().default(false),
    })
    .prefault({}),
  authorization: z
    .strictObject({
      mode: z.enum(['AlwaysAllow', 'Webhook']).default('Webhook'),
      /** authorization.webhook.cacheAuthorizedTTL, cacheUnauthorizedTTL */
      allowedCacheMs: z.number().nonnegative().default(300_000),
      deniedCacheMs: z.number().nonnegative().default(30_000),
    })
    .prefault({}),
  /** A connection to a command or a port is ended after this idle time (streamingConnectionIdleTimeout). */
  streamIdleMs: z
    .number()
    .positive()
    .default(4 * 60 * 60 * 1000),
  /**
   * How long a client may take to receive what its command wrote at last, in milliseconds: kubectl loses what it has not read
   * when its connection ends first.
   */
  streamLingerMs: z.number().positive().default(60_000),
  /** Binary of the relay that forwards the bytes of connections without TLS; without it node-api does. */
  streamRelay: z.string().optional(),
  /** Handlers that read from containers and run commands in them are served (enableDebuggingHandlers). */
  debuggingHandlers: z.boolean().default(true),
  /** Folder of the machine's logs, served below /logs. Omitted: they are not served (enableSystemLogHandler). */
  systemLogs: z.string().optional(),
  /** Logs of services can be requested there by name (enableSystemLogQuery). */
  systemLogQuery: z.boolean().default(false),
  /** /debug/flags/v and /debug/pprof are enabled (enableDebugFlagsHandler, enableProfilingHandler). */
  debugFlags: z.boolean().default(true),
  profiling: z.boolean().default(true),
  /** File that /configz answers with, `{"kubeletconfig": KubeletConfiguration}`. Omitted: it is not served. */
  configz: z.string().optional(),
  /** File with the values of the flags by name, JSON, that /flagz shows. Omitted: it is not served. */
  flagz: z.string().optional(),
});
