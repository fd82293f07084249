/*
 * malloc-trim: an addon for Node.js, a function without arguments that gives the free pages within malloc's heap back to the kernel.
 *
 * By itself glibc gives back only what is free at the end of its heap. What the addon needs of Node-API is declared here, since its ABI is
 * stable and Node.js is installed without headers.
 */
#include <malloc.h>
#include <stddef.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);

/* Returns 0 when it has succeeded. */
extern int napi_create_function(napi_env, const char *name, size_t length, napi_callback, void *data, napi_value *result);

static napi_value trim(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return NULL;
}

/* Called by Node.js when it loads the addon; the result is what the module exports. */
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function;
  return napi_create_function(env, "mallocTrim", 10, trim, NULL, &function) == 0 ? function : exports;
}
