/* `clickhouse` out of libchdb.so, which is a whole build of it as a library: its C function chdb_query_cmdline is the
 * program's main. Usage: clickhouse LIBRARY ARGUMENT… */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: clickhouse LIBRARY ARGUMENT...\n");
        return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    void *(*run)(int, char **) = library ? (void *(*)(int, char **))dlsym(library, "chdb_query_cmdline") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    argv[1] = "clickhouse";
    run(argc - 1, argv + 1);
    return 0;
}
