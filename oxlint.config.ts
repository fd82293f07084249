// The linter's configuration for the whole workspace. It also defines the roles of packages (docs/architecture.md):
// which role may import which, and what packages without I/O may not touch.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type OxlintOverride, defineConfig } from 'oxlint';

interface WorkspacePackage {
  readonly name: string;
  readonly dir: string;
  readonly role: Role;
  /** Compiled without the types of Node.js: no I/O, no clock. Required for contracts and decisions. */
  readonly pure: boolean;
}

/** What the packages of each role may import from the workspace. The role is the folder: packages/ROLE/NAME. */
const roles = {
  contract: ['contract'],
  decisions: ['contract', 'decisions'],
  bus: ['contract', 'decisions', 'bus'],
  adapters: ['contract', 'decisions', 'bus', 'adapters'],
  observe: ['contract', 'decisions', 'bus', 'adapters', 'observe'],
  services: ['contract', 'decisions', 'bus', 'adapters', 'observe'],
  tools: ['contract', 'decisions', 'bus', 'adapters', 'observe', 'services', 'tools'],
  testing: ['contract', 'decisions', 'bus', 'adapters', 'observe', 'services', 'tools', 'testing'],
} as const;
type Role = keyof typeof roles;

/** The role of everything outside packages/. */
const rolesElsewhere: Readonly<Record<string, Role>> = {
  proto: 'contract',
  services: 'services',
  charts: 'tools',
  e2e: 'testing',
  bench: 'testing',
};

const root = import.meta.dirname;
const manifests = '{proto,e2e,bench,charts/render,packages/*/*,services/*}/package.json';
const packages: readonly WorkspacePackage[] = globSync(manifests, { cwd: root }).map((file) => {
  const [top = '', next = ''] = file.split('/');
  const role = top === 'packages' ? next : rolesElsewhere[top];
  if (!isRole(role)) {
    throw new Error(`${file}: a package lies in one of packages/{${Object.keys(roles).join(',')}}`);
  }
  const dir = dirname(file);
  const { name } = JSON.parse(readFileSync(`${root}/${file}`, 'utf8')) as { name: string };
  return { name, dir, role, pure: [dir, dirname(dir)].some(isPure) };
});

/** Whether the folder's own compiler options leave Node.js out. */
function isPure(dir: string): boolean {
  const file = `${root}/${dir}/tsconfig.json`;
  return existsSync(file) && readFileSync(file, 'utf8').includes('tsconfig.pure.json');
}

function isRole(name: string | undefined): name is Role {
  return name !== undefined && name in roles;
}

/** Functions that have one place in the workspace, which sets their limits. */
const onePlace = [
  {
    name: 'node:http',
    importNames: ['createServer'],
    message: 'httpServer of @kubus/service-kit makes servers: it limits what one client may cost (rule:bounds).',
  },
  {
    name: 'node:https',
    importNames: ['createServer'],
    message: 'httpsServer of @kubus/service-kit makes servers: it limits what one client may cost (rule:bounds).',
  },
];

/** Packages that open paths which a container can influence. */
const opensPathsOfContainers = [
  'packages/adapters/filesystem',
  'packages/adapters/log-reader',
  'packages/adapters/object-socket',
  'services/node-api',
  'services/pod-workers',
  'services/volume-manager',
];

/** Files of these packages that open only the node's own paths and those of the kernel; and the places of the functions that open others. */
const opensOwnPaths = [
  'packages/adapters/filesystem/src/atomic-writer/content-folder.ts',
  'packages/adapters/filesystem/src/held.ts',
  'packages/adapters/filesystem/src/mount-table.ts',
  'packages/adapters/filesystem/src/open-regular.ts',
  'services/node-api/src/debug/zpages.ts',
  'services/node-api/src/server/app.ts',
  'services/node-api/src/streams/peer-state.ts',
  'services/node-api/src/tls/followed-files.ts',
  'services/node-api/src/tls/pair-files.ts',
  'services/node-api/src/tls/serving-certificates.ts',
  'services/pod-workers/src/cgroups/open-cgroups.ts',
  'services/pod-workers/src/files/node-files.ts',
];

const opening = ['node:fs', 'node:fs/promises'].map((name) => ({
  name,
  importNames: [
    ...['open', 'openSync', 'opendir', 'opendirSync', 'createReadStream', 'createWriteStream', 'promises'],
    ...['readFile', 'readFileSync', 'writeFile', 'writeFileSync', 'appendFile', 'appendFileSync'],
    ...['truncate', 'truncateSync', 'copyFile', 'copyFileSync', 'cp', 'cpSync'],
  ],
  message:
    'A container can put a pipe or a link there: use openRegular and its neighbours of @kubus/filesystem (rule:bounds), or list the file in opensOwnPaths.',
}));

const roleRules = packages.flatMap(({ name, dir, role, pure }): OxlintOverride[] => {
  const allowed: readonly Role[] = roles[role];
  const forbidden = packages.filter((other) => other.name !== name && !allowed.includes(other.role));
  const everywhere = role === 'testing' ? [] : onePlace;
  const own = opensOwnPaths.filter((file) => file.startsWith(`${dir}/`));
  const rulesOf = (paths: { name: string; importNames: string[]; message: string }[]): OxlintOverride['rules'] => ({
    'no-restricted-imports': [
      'error',
      {
        paths,
        patterns: [
          ...forbidden.map((other) => ({
            group: [other.name, `${other.name}/*`],
            message: `A package of role "${role}" may not import "${other.role}".`,
          })),
          ...(pure ? [{ group: ['node:*'], message: `${name} does no I/O.` }] : []),
        ],
      },
    ],
    ...(pure && {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Pass the time in.' },
        { object: 'Math', property: 'random', message: 'Pass random values in.' },
      ],
    }),
  });
  const src = { files: [`${dir}/src/**/*.ts`, `${dir}/src/**/*.tsx`], excludeFiles: ['**/*.test.ts'] };
  if (!opensPathsOfContainers.includes(dir)) return [{ ...src, rules: rulesOf(everywhere) }];
  return [
    { ...src, rules: rulesOf([...everywhere, ...opening]) },
    ...(own.length === 0 ? [] : [{ files: own, rules: rulesOf(everywhere) }]),
  ];
});

/** Properties of the page's elements that read text as HTML. */
const readsHtml = [
  'innerHTML',
  'outerHTML',
  'srcdoc',
  'insertAdjacentHTML',
  'setHTMLUnsafe',
  'createContextualFragment',
].map((property) => ({ property, message: 'Text of pods would become HTML: let React make the elements.' }));

export default defineConfig({
  plugins: ['typescript', 'react'],
  options: { typeAware: true, typeCheck: true },
  categories: { correctness: 'error' },
  ignorePatterns: [
    '**/dist/**',
    '**/generated/**',
    '**/node_modules/**',
    '.kubus/**',
    '.venv/**',
    '**/*.mjs',
    '**/*.cjs',
    '**/*.js',
    'scripts/*.d.ts',
  ],
  rules: {
    eqeqeq: 'error',
    'no-var': 'error',
    'prefer-const': 'error',
    'prefer-rest-params': 'error',
    'prefer-spread': 'error',
    'typescript/ban-ts-comment': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-array-constructor': 'error',
    'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    'typescript/no-deprecated': 'error',
    'typescript/no-dynamic-delete': 'error',
    'typescript/no-empty-object-type': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-extraneous-class': 'error',
    'typescript/no-generated-empty-object-type': 'error',
    'typescript/no-invalid-void-type': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-mixed-enums': 'error',
    'typescript/no-namespace': 'error',
    'typescript/no-non-null-asserted-nullish-coalescing': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-require-imports': 'error',
    'typescript/no-unnecessary-boolean-literal-compare': 'error',
    'typescript/no-unnecessary-condition': 'error',
    'typescript/no-unnecessary-template-expression': 'error',
    'typescript/no-unnecessary-type-arguments': 'error',
    'typescript/no-unnecessary-type-assertion': 'error',
    'typescript/no-unnecessary-type-constraint': 'error',
    'typescript/no-unnecessary-type-conversion': 'error',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-function-type': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    'typescript/no-unused-expressions': 'error',
    'typescript/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    'typescript/no-useless-constructor': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/prefer-literal-enum-member': 'error',
    'typescript/prefer-promise-reject-errors': 'error',
    'typescript/prefer-reduce-type-parameter': 'error',
    'typescript/prefer-return-this-type': 'error',
    'typescript/related-getter-setter-pairs': 'error',
    'typescript/require-await': 'error',
    'typescript/restrict-plus-operands': [
      'error',
      { allowAny: false, allowBoolean: false, allowNullish: false, allowNumberAndString: false, allowRegExp: false },
    ],
    'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/unified-signatures': 'error',
    'typescript/use-unknown-in-catch-callback-variable': 'error',
    'max-lines': ['warn', { max: 400 }],
    // Looking for control characters is what some expressions are for.
    'no-control-regex': 'off',
    // The page is not compiled by React's compiler.
    'react/immutability': 'off',
    'react/incompatible-library': 'off',
    'react/set-state-in-effect': 'off',
    // Nearly everything that is sorted here are names.
    'typescript/require-array-sort-compare': 'off',
  },
  overrides: [
    { files: ['**/*.tsx'], rules: { 'react/rules-of-hooks': 'error', 'react/exhaustive-deps': 'error' } },
    ...roleRules,
    {
      // What pods have written is text for the page, never HTML.
      files: ['packages/observe/observatory-page/src/**/*.ts', 'packages/observe/observatory-page/src/**/*.tsx'],
      rules: { 'react/no-danger': 'error', 'no-restricted-properties': ['error', ...readsHtml] },
    },
    {
      // The text of pods reaches the terminal of the operator only through `print`, which escapes controls.
      files: ['packages/tools/cli/src/**/*.ts'],
      excludeFiles: ['**/*.test.ts'],
      rules: { 'no-console': 'error' },
    },
  ],
});
