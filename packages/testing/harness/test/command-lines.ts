import { everyService } from '@kubus/launcher';

const nodeRule = 'use a DNS subdomain (lower-case letters, digits, "-" and ".").';
const ofUp = '\n"./kubus up --help" lists the options';

/** Arguments that `./kubus` refuses before it builds anything, and what it says. */
export const refused: [arguments: string, message: string][] = [
  ['--node Not_A_Name up', `option '--node <name>' argument 'Not_A_Name' is invalid. ${nodeRule}`],
  ['--node=a..b up', `option '--node <name>' argument 'a..b' is invalid. ${nodeRule}`],
  ['upp', "unknown command 'upp'"],
  ['up --observatroy', `unknown option '--observatroy'${ofUp}`],
  ['up -x', `unknown option '-x'${ofUp}`],
  ['up --node A', `option '--node <name>' argument 'A' is invalid. ${nodeRule}`],
  ['up --node', "option '--node <name>' argument missing"],
  ['up --faults=yes', `unknown option '--faults=yes'${ofUp}`],
  ['up here', "too many arguments for 'up'. Expected 0 arguments but got 1."],
  ['up -- here', "too many arguments for 'up'. Expected 0 arguments but got 1."],
  ['up --log-level', "option '--log-level <level>' argument missing"],
  [
    'up --log-level=loud',
    "option '--log-level <level>' argument 'loud' is invalid. Allowed choices are debug, info, warn, error.",
  ],
  ['up -oxml', "option '-o, --output <format>' argument 'xml' is invalid. Allowed choices are json, yaml."],
  ['up --kubeconfig /nowhere', "option '--kubeconfig <path>' argument '/nowhere' is invalid. It does not exist."],
  ['up --scale sync-loop=2', "option '--scale <service=count>' argument 'sync-loop=2' is invalid."],
  [
    'up --elsewhere prober nobody',
    `option '--elsewhere <service...>' argument 'nobody' is invalid. Allowed choices are ${everyService.join(', ')}.`,
  ],
  ['up --quiet --verbose', "option '--quiet' cannot be used with option '--verbose'"],
  ['up -o json --foreground', "option '--foreground' cannot be used with option '-o, --output <format>'"],
  ['scale prober', "missing required argument 'count'"],
  ['restart', "missing required argument 'service'"],
];

/** Arguments that may be right, as far as `./kubus` can know. */
export const leftToTheProgram = [
  '--node=a up --placement=hosted',
  'up --manifests . --elsewhere prober node-api --scale=prober=2 -o json --log-level debug',
  'up -ojson --hub x --journal',
  'down --grace 3',
  'logs a b -fn default --tail 3',
  'exec a --nonsense -- ls -x',
  'get anything --at-all',
  'up --nonsense --help',
  // It is prepared, and suggests another command.
  'stauts',
];
