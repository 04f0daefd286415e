#!/bin/sh
# Compiles a file as `gcc ARGUMENTS` does, but takes the headers that most files of the kernel include from a precompiled
# one, all.h. A file that does not compile so is compiled as usual.
#
# A precompiled header serves all files for which its macros have the same values. The name of the file, which make
# passes in macros, is therefore defined after it.

all=net/ipv4/nettrial/headers/all
for source; do :; done

# Splits the arguments into macros with the name of the file, which it writes to a file, and others, and compiles.
compile() {
    names=$1 && shift
    for argument; do
        shift
        definition=${argument#-D}
        case $argument in
        -DKBUILD_* | -D__KBUILD_*)
            printf '#undef %s\n#define %s %s\n' "${definition%%=*}" "${definition%%=*}" "${definition#*=}"
            ;;
        -c | -o | *.o | *.c | -Wp,-MMD,*)
            [ "$source" = $all.c ] || set -- "$@" "$argument"
            ;;
        -include | ./include/linux/compiler*.h | ./include/linux/kconfig.h) ;; # all.h includes them
        *) set -- "$@" "$argument" ;;
        esac
    done >"$names"
    [ "$source" != $all.c ] || set -- "$@" -x c-header $all.h -o $all.h.gch
    set -- -DKBUILD_MODFILE='"all"' -DKBUILD_BASENAME='"all"' -DKBUILD_MODNAME='"all"' -D__KBUILD_MODNAME=all "$@"
    [ "$source" = $all.c ] || set -- -include $all.h -include "$names" "$@"
    gcc -w "$@" 2>/dev/null
}

# The programs of the build, and the few files of arch/, have other headers.
case "$source $* " in
arch/* | usr/* | scripts/*) ;;
*" -include ./include/linux/compiler_types.h "*" -c -o "*)
    if [ "$source" = $all.c ]; then
        compile "${source%.c}.names.h" "$@"
    elif [ -f $all.h.gch ]; then
        compile "${source%.c}.names.h" "$@" && exit
    fi
    ;;
esac
exec gcc "$@"
