# bash splits the line at `:` and `=` as well. This joins the words again, and cuts from each candidate the part
# that bash keeps.
_joulepath() {
    local words=() word rest=$COMP_LINE gap i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=
        while [[ $rest == [[:space:]]* ]]; do rest=${rest:1} gap=1; done
        word=${COMP_WORDS[i]} rest=${rest#"${COMP_WORDS[i]}"}
        if [[ $i -gt 0 && -z $gap ]]; then words[${#words[@]} - 1]+=$word; else words+=("$word"); fi
    done
    local last=${words[${#words[@]} - 1]} kept
    kept=${last%"${last##*[:=]}"}
    local IFS=$'\n'
    COMPREPLY=($(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) JOULEPATH_COMPLETE=bash \
        joulepath -- "${words[@]}"))
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
    if [[ ${COMPREPLY[0]-} == *[=/:] ]]; then compopt -o nospace; fi
}
complete -o bashdefault -o nosort -F _joulepath joulepath
