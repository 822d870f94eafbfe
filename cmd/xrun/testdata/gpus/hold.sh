# hold.sh EXPERIMENT I: holds a lock on a file of each GPU that it has, as long as anything of it lives, and says who was
# in its way. What it held, and when, is a line in $RAN/log.
set -e
fd=5
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
	eval "exec $fd>>\"$RAN/held.$gpu\""
	flock -n $fd || echo "$XRUN_RUN_ID $1.$2 has $gpu, and so has another" >>"$RAN/twice"
	fd=$((fd + 1))
done
start=$(date +%s%N)
echo "start $1.$2" >>"$RAN/log"
sleep 0.$(($2 % 4 + 1))
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
	echo "held $gpu $start $(date +%s%N)" >>"$RAN/log"
done
echo "score=0.$2"
