import * as z from 'zod';

/** The node's HTTP servers. */
export const serverSchema = z.strictObject({
  /** Unix socket of the same API for the people of the machine: whoever may open it may do everything. Left out: there is none. */
  socket: z.string().optional(),
  /** Address and port of the HTTPS API (address, port). No port: it is not served, where nobody could tell who may use it. */
  address: z.string().default('0.0.0.0'),
  port: z.int().min(1).max(65_535).optional(),
  /** Port of the API without authentication; 0: none (readOnlyPort). */
  readOnlyPort: z.int().min(0).max(65_535).default(0),
  /** Where /healthz is served without TLS; port 0: nowhere (healthzBindAddress, healthzPort). */
  healthz: z
    .strictObject({ address: z.string().default('127.0.0.1'), port: z.int().min(0).max(65_535).default(10_248) })
    .prefault({}),
  /** Left out: a self-signed pair in `certDir` (tlsCertFile, tlsPrivateKeyFile). */
  tls: z.strictObject({ certFile: z.string(), keyFile: z.string() }).optional(),
  /** Folder of the self-signed certificate (--cert-dir). */
  certDir: z.string(),
  /** Have the API server's signer make the serving certificate (serverTLSBootstrap). */
  bootstrapTls: z.boolean().default(false),
  /** Such as `VersionTLS12` (tlsMinVersion); left out: TLS 1.2. */
  minVersion: z.string().optional(),
  /** By their IANA names (tlsCipherSuites); none: Node's. */
  cipherSuites: z.array(z.string()).default([]),
  authentication: z
    .strictObject({
      /** Certificates of these authorities name their user (authentication.x509.clientCAFile). */
      clientCaFile: z.string().optional(),
      /** Ask the API server whose a token is (authentication.webhook). */
      webhook: z.boolean().default(true),
      webhookCacheMs: z.number().nonnegative().default(120_000),
      /** Others are `system:anonymous` (authentication.anonymous). */
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
  /** A connection to a command or a port that is silent for so long is ended (streamingConnectionIdleTimeout). */
  streamIdleMs: z
    .number()
    .positive()
    .default(4 * 60 * 60 * 1000),
  /** Binary of the relay that passes the bytes of connections without TLS; without it node-api does. */
  streamRelay: z.string().optional(),
  /** What can read and run things in containers is served (enableDebuggingHandlers). */
  debuggingHandlers: z.boolean().default(true),
  /** Folder of the machine's logs, served below /logs. Left out: they are not (enableSystemLogHandler). */
  systemLogs: z.string().optional(),
  /** Logs of services can be asked for by name there (enableSystemLogQuery). */
  systemLogQuery: z.boolean().default(false),
  /** /debug/flags/v and /debug/pprof are not disabled (enableDebugFlagsHandler, enableProfilingHandler). */
  debugFlags: z.boolean().default(true),
  profiling: z.boolean().default(true),
  /** File that /configz answers with, `{"kubeletconfig": KubeletConfiguration}`. Left out: it is not served. */
  configz: z.string().optional(),
  /** File with the values of the flags by name, JSON, that /flagz tells. Left out: it is not served. */
  flagz: z.string().optional(),
});
